"""Sources that differ in all that a search may go by."""

from dataclasses import replace

from hypothesis import strategies as st

from dragoman.decoding.options import Sampling
from dragoman.decoding.strategy import Source, TargetLimits
from tests.engine.decoding.fake_stepper import EOS, Prefix

LENGTH_PENALTIES = (0.0, 0.6, 1.0, 2.0)

begins: st.SearchStrategy[Prefix] = st.builds(
    lambda start, forced: (start, *forced), st.integers(0, 3), st.lists(st.integers(EOS + 1, 9), max_size=3)
)
"""Starts of a decoder, the end of sentence among them as in M2M-100, and up to three forced tokens."""

prefixes: st.SearchStrategy[Prefix] = st.one_of(
    st.just(()), st.lists(st.integers(EOS + 1, 9), max_size=2).map(tuple)
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
