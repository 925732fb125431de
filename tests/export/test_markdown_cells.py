"""A table's cell shows any text as it is."""

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from export.markdown import cell, table

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
TEXT = st.text(
    st.one_of(
        st.sampled_from("|\\`*_[]()<>~&;#!:-+a1 \n$ü"),
        st.characters(codec="utf-8", exclude_categories=["Cc"]),
    )
)


def shown(markdown: str) -> list[list[str]]:
    """Rows of the only table, the head first, as a reader sees them; nothing but text is allowed in cells."""
    rows: list[list[str]] = []
    for token in PARSER.parse(markdown):
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            children = token.children or []
            assert {child.type for child in children} <= {"text", "text_special"}, markdown
            rows[-1].append("".join(child.content for child in children))
        else:
            assert token.type.startswith(("table", "thead", "tbody", "tr_", "th_", "td_")), markdown
    return rows


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=3))
def test_a_reader_sees_the_text_of_every_cell_with_its_white_space_folded(
    rows: list[tuple[str, str]],
) -> None:
    expected = [[" ".join(text.split()) for text in row] for row in rows]

    assert shown(table(("a", "b"), rows)) == [["a", "b"], *expected]


def test_bars_tags_links_and_emphasis_are_text() -> None:
    text = "a | b <b>c</b> *d* _e_ `f` [g](h) ~~i~~ &amp; \\| ![j](k)"

    assert shown(table(("", ""), [(text, "last")]))[1] == [text, "last"]


def test_an_emoji_by_name_is_text() -> None:
    assert cell(":smile: at 12:30:45") == "\\:smile: at 12\\:30:45"


def test_what_markdown_leaves_alone_is_not_escaped() -> None:
    plain = "Intel(R) Xeon(R) (x86_64), 2 threads, torch 2.13.0+cpu; CC BY-SA 3.0/4.0: free!"

    assert cell(plain) == plain
