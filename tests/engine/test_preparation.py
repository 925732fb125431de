"""Texts are cut into segments, and these encoded, together."""

import pytest

from dragoman.bundle import open_bundle
from dragoman.errors import InputError
from dragoman.loading import open_tokenizers
from dragoman.pipeline.preparation import PreparedText, Preparer
from dragoman.pipeline.segment_input import SegmentInput
from dragoman.reading.reader import Reader
from dragoman.types import Pair
from tests.paths import TINY

BUNDLE = TINY / "bundle-fp32"


def test_the_distinct_segments_of_all_texts_are_encoded_in_one_call(monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = open_bundle(BUNDLE)
    tokenizer, _ = open_tokenizers(bundle)
    preparer = Preparer(bundle.manifest.languages, bundle.manifest.limits, Reader(tokenizer))
    encode, calls = tokenizer.encode, list[list[str]]()

    def record(segments: list[str]) -> list[list[int]]:
        calls.append(segments)
        return encode(segments)

    monkeypatch.setattr(tokenizer, "encode", record)

    first, wrong, last = preparer.prepare(["Ja. Nein.", "\ud800", "Nein."], Pair("de", "en"), 4)

    assert calls == [["Ja.", "Nein."]]
    assert isinstance(wrong, InputError)
    assert wrong.item == 5
    assert isinstance(first, PreparedText)
    assert isinstance(last, PreparedText)
    sources = [*first.sources, *last.sources]
    assert all(isinstance(source, SegmentInput) for source in sources)
    assert [source.ids for source in sources if isinstance(source, SegmentInput)] == [
        *preparer.encode(["Ja.", "Nein.", "Nein."], Pair("de", "en"))
    ]
