"""What makes two entries the same."""

from hypothesis import given
from hypothesis import strategies as st

from dragoman.types import Pair
from service.batch.journal import KEY_SIZE_BYTES, entry_key
from service.formats.entries import Entry, entry_of
from service.text.marked_text import Mark, MarkedText, MarkKind

PAIRS = st.sampled_from([Pair("de", "en"), Pair("de", "fr"), Pair("d", "een"), Pair("en", "de")])
MARKS = st.lists(st.builds(Mark, st.integers(0, 2), st.sampled_from(MarkKind), st.integers(0, 2)), max_size=2)
TEXTS = st.builds(
    MarkedText,
    st.text(st.characters(), max_size=20),  # lone surrogates among them: files may have them
    MARKS.map(tuple),
)
WANTED = st.tuples(TEXTS, PAIRS)


@given(WANTED, WANTED)
def test_entries_have_one_key_if_and_only_if_text_marks_and_languages_are_the_same(
    one: tuple[MarkedText, Pair], other: tuple[MarkedText, Pair]
) -> None:
    keys = [entry_key(entry_of(marked, "line 1"), pair) for marked, pair in (one, other)]

    assert (keys[0] == keys[1]) == (one == other)
    assert {len(key) for key in keys} == {KEY_SIZE_BYTES}


def test_the_position_of_an_entry_is_no_part_of_its_key() -> None:
    keys = {entry_key(Entry("ja", place), Pair("de", "en")) for place in ("line 1", "row 2, column b")}

    assert len(keys) == 1
