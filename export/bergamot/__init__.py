"""Importer of Bergamot students: Marian's binary models, as Firefox and translateLocally run them."""

from export.bergamot.load import load, recognises

__all__ = ["load", "recognises"]
