"""What makes two entries the same."""

from hypothesis import given
from hypothesis import strategies as st

from dragoman.types import Pair
from service.batch.journal import KEY_SIZE_BYTES, entry_key
from service.formats.entries import Entry
from service.markup.options import MarkupLanguage, MarkupOptions

PAIRS = st.sampled_from([Pair("de", "en"), Pair("de", "fr"), Pair("d", "een"), Pair("en", "de")])
MARKUPS = st.none() | st.builds(
    MarkupOptions,
    st.sampled_from(MarkupLanguage),
    st.frozensets(st.sampled_from(["a", "b", "ab"])),
    st.frozensets(st.sampled_from(["a", "b", "ab"])),
)
TEXTS = st.text(st.characters(), max_size=20)  # lone surrogates among them: files may have them
WANTED = st.tuples(TEXTS, MARKUPS, PAIRS)


@given(WANTED, WANTED)
def test_entries_have_one_key_if_and_only_if_text_markup_and_languages_are_the_same(
    one: tuple[str, MarkupOptions | None, Pair], other: tuple[str, MarkupOptions | None, Pair]
) -> None:
    keys = [entry_key(Entry(text, "line 1", markup), pair) for text, markup, pair in (one, other)]

    assert (keys[0] == keys[1]) == (one == other)
    assert {len(key) for key in keys} == {KEY_SIZE_BYTES}


def test_neither_the_position_of_an_entry_nor_the_order_of_tags_is_part_of_its_key() -> None:
    names = [f"tag{number}" for number in range(50)]
    keys = {
        entry_key(Entry("ja", place, MarkupOptions(MarkupLanguage.XML, frozenset(order))), Pair("de", "en"))
        for place, order in (("line 1", names), ("row 2, column b", names[::-1]))
    }

    assert len(keys) == 1
