"""Sources that differ in all that a search may go by."""

from dataclasses import replace

from hypothesis import strategies as st

from dragoman.decoding.options import Sampling
from dragoman.decoding.strategy import Source, TargetLimits
from tests.decoding.fake_stepper import EOS, Prefix

SPELLED = bytes.fromhex("00 41 c3 a9 80 bf e2 82 ac f0 9f 98 ef bd bc ed a0 f4 90 c0")
"""Bytes of whole characters and of parts of them, and bytes that are in none."""
LARGEST_FORCED = 9
"""Of the ids that targets may have to begin with."""
LENGTH_PENALTIES = (0.0, 0.6, 1.0, 2.0)

begins: st.SearchStrategy[Prefix] = st.builds(
    lambda start, forced: (start, *forced),
    st.integers(0, 3),
    st.lists(st.integers(EOS + 1, LARGEST_FORCED), max_size=3),
)
"""Starts of a decoder, the end of sentence among them as in M2M-100, and up to three forced tokens."""

prefixes: st.SearchStrategy[Prefix] = st.one_of(
    st.just(()), st.lists(st.integers(EOS + 1, LARGEST_FORCED), max_size=2).map(tuple)
)
"""What callers want targets to begin with: often nothing."""


samplings = st.builds(
    Sampling,
    top_k=st.integers(0, 8),
    top_p=st.sampled_from([0.01, 0.5, 0.9, 1.0]),
    temperature=st.sampled_from([1e-300, 0.1, 0.7, 1.0, 3.0]),
)


@st.composite
def sources(draw: st.DrawFn, beam_size: int) -> Source:
    """Up to seven tokens after the forced ones."""
    begin, prefix = draw(begins), draw(prefixes)
    num_forced = len(begin) - 1 + len(prefix)
    max_tokens = draw(st.integers(num_forced + 1, num_forced + 7))
    return Source(
        ids=(),
        limits=TargetLimits(max_tokens, min_tokens=draw(st.integers(0, max_tokens))),
        begin=begin,
        length_penalty=draw(st.sampled_from(LENGTH_PENALTIES)),
        num_hypotheses=draw(st.integers(1, beam_size)),
        early_stopping=draw(st.booleans()),
        prefix=prefix,
    )


@st.composite
def beams(draw: st.DrawFn, min_size: int = 2) -> tuple[int, list[Source]]:
    """A beam and what it searches for."""
    beam_size = draw(st.integers(min_size, 6))
    return beam_size, draw(st.lists(sources(beam_size), min_size=1, max_size=4))


@st.composite
def filtered_sources(draw: st.DrawFn, beam_size: int) -> Source:
    """With longer targets, for tokens to be repeated."""
    source = draw(sources(beam_size))
    more = draw(st.integers(0, 10))
    return replace(
        source,
        limits=TargetLimits(source.limits.max_tokens + more, source.limits.min_tokens + more // 2),
        repetition_penalty=draw(st.sampled_from([1.0, 1.2, 3.0])),
        no_repeat_ngram_size=draw(st.sampled_from([0, 1, 2, 3])),
    )


def byte_pieces(vocab_size: int) -> st.SearchStrategy[dict[int, int]]:
    """Pieces that spell a byte each: none, or many where all ids that may be forced are pieces."""
    many = dict(zip(range(4, vocab_size), SPELLED, strict=False)) if vocab_size > LARGEST_FORCED else {}
    return st.sampled_from([{}, many])
