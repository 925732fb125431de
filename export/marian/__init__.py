"""Importer of models in Marian's own format.

Junczys-Dowmunt et al., "Marian: Fast Neural Machine Translation in C++", ACL 2018, arXiv:1804.00344.
"""

from export.marian.archive import ArchiveLimits, unpacked
from export.marian.load import load, recognises

__all__ = ["ArchiveLimits", "load", "recognises", "unpacked"]
