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


def test_the_position_of_an_entry_is_not_part_of_its_key() -> None:
    pair = Pair("de", "en")

    assert entry_key(Entry("ja", "line 1"), pair) == entry_key(Entry("ja", "row 2, column b"), pair)


def test_the_order_of_tags_is_not_part_of_a_key() -> None:
    names = [f"tag{number}" for number in range(50)]
    one, other = (
        MarkupOptions(MarkupLanguage.XML, frozenset(order)) for order in (names, list(reversed(names)))
    )

    assert entry_key(Entry("ja", "1", one), Pair("de", "en")) == entry_key(
        Entry("ja", "1", other), Pair("de", "en")
    )
