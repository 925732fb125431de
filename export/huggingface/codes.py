"""Language codes of the multilingual models in the order of their ids, and codes of no single language."""

from pathlib import Path

_FOLDER = Path(__file__).parent / "language_codes"


def _read(name: str) -> tuple[str, ...]:
    return tuple((_FOLDER / f"{name}.txt").read_text(encoding="utf8").split())


M2M_100 = _read("m2m_100")
"""Codes of M2M-100 (Fan et al. 2020, arXiv:2010.11125)."""
WMT_21 = ("en", "ha", "is", "ja", "cs", "ru", "zh", "de")
"""Codes of the WMT21 models, which share the class of M2M-100."""
NLLB_200 = _read("nllb_200")
"""Codes of NLLB-200 (NLLB Team 2022, arXiv:2207.04672)."""
MBART_25 = _read("mbart_25")
"""Codes of MBart (Liu et al. 2020, arXiv:2001.08210)."""
MBART_50_MORE = _read("mbart_50_more")
"""Codes that MBart-50 (Tang et al. 2020, arXiv:2008.00401) has after those of MBart."""
MBART_50 = MBART_25 + MBART_50_MORE
GROUPS = frozenset(_read("groups"))
"""Language families (ISO 639-5), and codes for several languages or none in particular."""
