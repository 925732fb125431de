"""Pairs of TMX files."""

from io import BytesIO

from dragoman.types import Pair
from service.memories.pairs import SegmentPair
from service.memories.tmx import TmxPairs


def _tmx(*units: str) -> BytesIO:
    body = "".join(f"<tu>{unit}</tu>" for unit in units)
    return BytesIO(f'<tmx version="1.4"><header srclang="de"/><body>{body}</body></tmx>'.encode())


def _variant(language: str, segment: str) -> str:
    return f'<tuv xml:lang="{language}"><seg>{segment}</seg></tuv>'


def test_units_in_both_languages_are_pairs_and_the_others_are_counted() -> None:
    pairs = TmxPairs(
        _tmx(
            _variant("de-AT", "a &amp; b") + _variant("fr", "c") + _variant("EN-us", "d"),
            _variant("de", "nur eins"),
            _variant("de", " ") + _variant("en", "empty"),
            _variant("en", "order") + _variant("de", "egal"),
        ),
        Pair("de", "en"),
    )

    assert list(pairs) == [SegmentPair("a & b", "d"), SegmentPair("egal", "order")]
    assert pairs.num_skipped == 2


def test_codes_are_the_text_that_they_hold() -> None:
    segment = '<bpt i="1">&lt;b&gt;</bpt>{}<ept i="1">&lt;/b&gt;</ept> <ph>%s</ph> <hi>{}</hi>'
    pairs = TmxPairs(
        _tmx(_variant("de", segment.format("fett", "x")) + _variant("en", segment.format("bold", "y"))),
        Pair("de", "en"),
    )
    assert list(pairs) == [SegmentPair("<b>fett</b> %s x", "<b>bold</b> %s y")]


def test_a_code_without_content_skips_the_unit() -> None:
    pairs = TmxPairs(_tmx(_variant("de", 'a<ph x="1"/>') + _variant("en", "b")), Pair("de", "en"))
    assert (list(pairs), pairs.num_skipped) == ([], 1)
