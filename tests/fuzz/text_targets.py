"""Text to segments to tokens and back."""

from contextlib import suppress

from dragoman.errors import InputError
from dragoman.text.normalization import normalise_segment, normalised_offsets
from dragoman.text.segmentation import segment, segment_to_fit
from dragoman.text.validation import check_text
from dragoman.types import Span, Splitting
from tests.fuzz.target import TEXTS, Target, World, decode

LANGUAGES = ("de", "en", "ja", "hy", "xx", "pt-BR")
MAX_TOKENS = 12


def normalise(_world: World, data: bytes) -> None:
    """A normalised segment stays as it is, and each of its characters has a place in the segment."""
    text = decode(data)
    normalised = normalise_segment(text)
    places = normalised_offsets(text)

    assert normalise_segment(normalised) == normalised
    assert len(places) == len(normalised) + 1
    assert places == sorted(places)
    assert all(0 <= place <= len(text) for place in places)


def split(_world: World, data: bytes) -> None:
    """Segments and gaps are the text, however it is split."""
    text = decode(data)
    for language in LANGUAGES:
        for splitting in Splitting:
            document = segment(text, language, splitting)

            assert document.rejoin(document.segments) == text
            assert all(part and part == part.strip() for part in document.segments)


def split_to_fit(world: World, data: bytes) -> None:
    """No segment with letters is over the limit, and nothing is lost."""
    text = decode(data)
    with suppress(InputError):
        check_text(text, None)
        document = segment_to_fit(text, "de", world.tokenizer.count, MAX_TOKENS)

        assert document.rejoin(document.segments) == text
        for part in document.segments:
            assert world.tokenizer.count(part) <= MAX_TOKENS or not any(map(str.isalpha, part))


def tokenise(world: World, data: bytes) -> None:
    """Ids say the normalised text again, but for white space that SentencePiece folds."""
    text = decode(data)
    with suppress(InputError):
        [ids] = world.tokenizer.encode([text])
        assert len(world.tokenizer.pieces(ids)) == len(ids)
        [said] = world.tokenizer.decode([ids])
        assert "".join(said.split()).replace("\u2581", "") == "".join(
            normalise_segment(text).split()
        ).replace("\u2581", "")


def locate(world: World, data: bytes) -> None:
    """Every token stands somewhere in its text, and none before the one before it."""
    text = decode(data)
    with suppress(InputError):
        [ids] = world.tokenizer.encode([text])
        [said] = world.tokenizer.decode([ids])

        _assert_in_order(world.tokenizer.source_spans(text), len(ids), len(text))
        _assert_in_order(world.tokenizer.target_spans(ids), len(ids), len(said))


def _assert_in_order(spans: list[Span], num_tokens: int, length: int) -> None:
    assert len(spans) == num_tokens
    starts = [start for start, _ in spans]
    assert starts == sorted(starts)
    assert all(0 <= start <= end <= length for start, end in spans)


TARGETS = (
    Target("text-normalise", TEXTS, normalise),
    Target("text-segment", TEXTS, split),
    Target("text-segment-to-fit", TEXTS, split_to_fit),
    Target("text-tokenise", TEXTS, tokenise),
    Target("text-spans", TEXTS, locate),
)
