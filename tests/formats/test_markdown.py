# ruff: noqa: E501 -- markup is read more easily unbroken
"""Markdown, compared with what markdown-it makes of it."""

import re
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from service.formats.entries import Entry
from service.formats.markdown import MarkdownFormat
from tests.formats.rewriting import OPTIONS, anything, own, rewritten
from tests.linear import is_linear
from tests.text.markup.translations import SEEDS

MARKDOWN = MarkdownFormat(OPTIONS)


@pytest.mark.parametrize(
    "unit",
    [
        "!!! a\n",
        "$$\n",
        "import a\n",
        ":::a\n",
        "a\n: b\n",
        "*[a]: b\n",
        "[!a] ",
        "[[a|b]]",
        "{#a}",
        "{>>",
        ":a:",
        '"',
        "[[",
    ],
)
@pytest.mark.parametrize("start", ["", '!!! a "', ":::a[", "> [!NOTE]\n> "])
def test_marks_of_dialects_take_linear_work(unit: str, start: str) -> None:
    assert is_linear(lambda size: rewritten(MARKDOWN, (start + (unit * size)[:size]).encode(), own))


def test_nested_admonitions_end_somewhere() -> None:
    """A thousand in each other are no recursion."""
    markdown = "".join(f"{'    ' * i}!!! note\n" for i in range(1000))

    assert rewritten(MARKDOWN, markdown.encode(), own).decode() == markdown


@pytest.mark.parametrize(
    "said",
    [
        "# x", "1. x", "2) x", "- x", "+ x", "* x", "> x", "=", "---", "~~~ x", "``` x", "*x*", "_x_", "a_b_c",
        "[x](y)", "![x](y)", "[x]: y", "<b>x", "<!-- x", "&amp;", "&lt;x", "\\", "\\*", "`x`", "x #", "a | b",
        "~~x~~", "{{ x", "http://x", "<http://x>", "x*y*z", "_", "**", "| - |",
        "!!! note", "??? tip", ":::note", ": x", '=== "x"', "[!NOTE]", "*[x]: y", "{#id}", "{: .x}", "[[x]]",
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "frame", ["{}\n", "# {}\n", "- {}\n", "> {}\n", "| {} | y |\n|---|---|\n", "{}\nzweite\n"]
)
def test_a_translation_is_read_as_it_is_written(said: str, frame: str) -> None:
    result = rewritten(
        MARKDOWN, frame.format("Wort").encode(), lambda entry: said if "Wort" in entry.text else "y"
    )

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    before, after = (parser.parse(text) for text in (frame.format("Wort"), result.decode()))
    assert [token.type for token in after] == [token.type for token in before]
    inline = next(token for token in after if token.type == "inline")
    assert {child.type for child in inline.children or []} <= {"text", "softbreak"}
    assert "".join(child.content or " " for child in inline.children or []) == said


@pytest.mark.parametrize("mark", ["*", "_", "**", "__", "~~"])
@pytest.mark.parametrize("before", ["", " ", "a", "("])
@pytest.mark.parametrize("inside", ["b", "b ", " b", '"b"', "b!"])
@pytest.mark.parametrize("after", ["", " ", "c", "."])
def test_emphasis_stays_wherever_it_goes(mark: str, before: str, inside: str, after: str) -> None:
    markdown = f"Ein {mark}fettes{mark} Wort\n"

    result = rewritten(MARKDOWN, markdown.encode(), lambda _: f'x{before}<g i="0">{inside}</g>{after}y')

    html = MarkdownIt("commonmark").enable("strikethrough").render(result.decode())
    tag = {"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "(?:s|del)"}[mark]
    assert re.search(rf"<{tag}>(?:&quot;)?b(?:&quot;|!)?</{tag}>", html), result
    assert "<" not in result.decode()
    assert re.sub(r"<.*?>", "", html).strip().replace("&quot;", '"').split() == (
        f"x{before}{inside}{after}y".split()
    )


@pytest.mark.parametrize(
    ("markdown", "said", "result"),
    [
        ("**a** b", '<g i="0">x</g>y', "**x**y"),
        ("__a__ b", '<g i="0">x</g>y', "**x**y"),
        ("**a** b", 'x<g i="0">"y"</g>z', 'x"**y**"z'),
        ("**a** b", 'w x<g i="0">!</g>y z', "w **x!y** z"),
        ("**`a` b** c", 'w x<g i="0"><x i="1"/> y</g> z', "w **x`a` y** z"),
        ("**a** *b*", '<g i="0">x</g><g i="2">y</g>', "**x***y*"),
        ("*a **b*** c", '<g i="0"><g i="1">y</g></g>', "***y***"),
        ("**a *b*** c", '<g i="0"><g i="1">y</g></g>', "**_y_**"),
        ("[**a**](u) b", 'x<g i="0"><g i="1">(y)</g></g>z', "x[**(y)**](u)z"),
        ("~~a~~ b", 'x<g i="0">(y)</g>z', "x(~~y~~)z"),
        ("a **b** c", 'a <g i="0">b </g>c', "a **b** c"),
        ("a **b** c", 'x <g i="0">- b</g> c', "x **- b** c"),
        ("a **b** c", 'a<g i="0"> </g>c', "a c"),
    ],
)
def test_emphasis_comes_back_as_markdown(markdown: str, said: str, result: str) -> None:
    def say(entry: Entry) -> str:
        return entry.text[: len(entry.text) - len(entry.text.lstrip())] + said

    assert rewritten(MARKDOWN, markdown.encode(), say).decode() == result


_BLOCKS = [
    "# Titel *a* #", "Ein Satz.", "zwei\nZeilen  \nund drei", "- Punkt", "* Punkt\n\n  mehr", "1. eins", "> Zitat\nfaul",
    "> > tief", "```\ncode\n```", "    code", "***", "---", "Titel\n---", "| a | b |\n|--|--|\n| c \\| d | `e \\| f` |\n",
    "<div>\nx\n</div>", "<!-- c -->", "[a]: http://b", "[^1]: Note zwei", "\tTab", "-\tTab *x*", "> \tTab",
    '**fett *und* so** `c` [l](u) [a] ![i](u "t") <b>x</b> <br> \\* &amp; &#65; \\\nz', "a*b_c[d]e`f<g&h~~i~~",
    "[x *y* `z`](u) *[a][]*", "~~~a~~~ ***b** c*", "\u00a0x\u2028y\x0bz", "- [ ] t", "  eingerückt\n    weit",
]  # fmt: skip
DOCUMENTS = st.lists(
    st.sampled_from(_BLOCKS) | st.text(st.sampled_from("ab *_[]()`<>&!#-+.1|\\~:\t\r\n"), max_size=20),
    max_size=6,
).flatmap(lambda blocks: st.sampled_from(["\n\n", "\n", "\r\n\r\n"]).map(lambda gap: gap.join(blocks)))


@settings(max_examples=200)
@given(DOCUMENTS)
def test_any_document_comes_back_with_its_own_text(markdown: str) -> None:
    assert rewritten(MARKDOWN, markdown.encode(), own) == markdown.encode()


@settings(max_examples=150)
@given(DOCUMENTS, SEEDS)
def test_for_any_translation_code_and_link_targets_are_unchanged(markdown: str, random: Random) -> None:
    assume("<div>" not in markdown)  # up to the next blank line all is text of HTML

    result = rewritten(MARKDOWN, markdown.encode(), anything(random)).decode()

    for block in ("```\ncode\n```", "`e \\| f`"):
        assert result.count(block) == markdown.count(block)
