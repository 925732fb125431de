"""Cells of Markdown tables show any text literally."""

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
def test_cells_render_as_their_text_with_single_spaces(rows: list[tuple[str, str]]) -> None:
    expected = [[" ".join(text.split()) for text in row] for row in rows]

    assert shown(table(("a", "b"), rows)) == [["a", "b"], *expected]


def test_markdown_and_html_syntax_in_a_cell_is_escaped() -> None:
    text = "a | b <b>c</b> *d* _e_ `f` [g](h) ~~i~~ &amp; \\| ![j](k)"

    assert shown(table(("", ""), [(text, "last")]))[1] == [text, "last"]


def test_an_emoji_name_in_a_cell_is_escaped() -> None:
    assert cell(":smile: at 12:30:45") == "\\:smile: at 12\\:30:45"


def test_plain_characters_in_a_cell_are_not_escaped() -> None:
    plain = "Intel(R) Xeon(R) (x86_64), 2 threads, torch 2.13.0+cpu; CC BY-SA 3.0/4.0: free!"

    assert cell(plain) == plain
