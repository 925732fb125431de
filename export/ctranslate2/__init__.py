"""Importer of CTranslate2 folders, and of Argos packages, which have one each."""

from export.ctranslate2.load import load, recognises

__all__ = ["load", "recognises"]
