# ruff: noqa: E501 -- markup is read more easily unbroken
# ruff: noqa: E501, Q003 -- markup is read more easily unbroken
"""Markdown, compared with what markdown-it makes of it."""

import re
from collections.abc import Callable
from random import Random

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from service.formats.entries import Entry, FileOptions, TargetText
from service.formats.markdown import MarkdownFormat
from service.text.marked_text import MarkedText
from tests.formats.rewriting import OPTIONS, anything, entries, own, rewritten, target_text, texts
from tests.linear import is_linear
from tests.text.markup.marked import SEEDS, noted, unnoted

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


WORDS = {
    "Haus": "house", "Garten": "garden", "Hund": "dog", "Vogel": "bird", "Freundschaft": "amity",
    "klein": "tiny", "grün": "viridescent", "und": "furthermore", "läuft": "perambulates",
}  # fmt: skip
_WORD = re.compile(r"\b(?:" + "|".join([*WORDS, *WORDS.values()]) + r")\b")
_TAGS = re.compile(r"(<[^>]*>)")

INLINE = [
    "W", "W W", "**W W**", "_W_", "*W*", "~~W~~", "`W_x`", "``a ` b``", "[W W](http://a.b/c_d \"t\")", "[W][ref]",
    "[`W`][mod.W_x]", "![W W](b.png)", "$x_{i} \\cdot y_{j}$", "\\(a_1 + a_2\\)", "$$a_1 * b_2 * c$$", "W[^1]",
    "W[^note],", "{{ site.W_x }}", "{% if W %}", "[W]({{ '/W/' | relative_url }})", "![[W.png|300]]", "[[W|W W]]",
    "[W]{.rot}", "W {: .klasse }", "<!-- W_c -->", "<b>W</b>", "<span style={{color: 'W'}}>W</span>", "{/* W */}",
    "\\*W\\*", "W&nbsp;W", "W &amp; W", "(W)", "W!", "W: W", "5 $ W 10 $", "\"W\"", "[W]", "==W==", "{++W++}",
    "{==W W==}{>>W W<<}",
    "W\\_W", "[@W99, p. 5]", ":smile:", "<https://a.b/c_d*e>", "https://a.b/c_d_e", "<kbd>W</kbd>", "a[0] W",
    "{{< ref \"W\" >}}", "{{% param W %}}", "[W]({{< ref \"/W\" >}})", "W<sup>1</sup>", "©", "W...", "W?",
]  # fmt: skip
BLOCKS = [
    "# @", "## @ {#W-x}", "@", "@\n@", "@\n@\n@", "- @\n- @\n  @", "1. @\n2. @", "- [ ] @\n- [x] @", "> @\n> @",
    "> @\n@", "> [!NOTE]\n> @", "> [!tip]- @\n> @", "{: .note .info}\n@", "@\n{: .klein}", "> @\n{: .W}",
    "{{% alert title=\"W W\" %}}\n@\n{{% /alert %}}", "{{< card\n  header=\"**W**\"\n  footer=\"W\"\n>}}",
    "{% highlight ruby %}\nputs \"W W\"\n{% endhighlight %}", "{{< highlight go >}}\npackage W\n{{< /highlight >}}",
    "{% if W %}\n@\n{% endif %}", "!!! note \"W W\"\n    @\n    @", "??? tip\n    @", "=== \"W\"\n    @", ":::note[W W]\n@\n:::",
    ":::info W W\n@\n:::", "::: {.W}\n@\n:::", ":::{figure} W.png\n:W: W\n:alt: W W\n@\n:::", "[^1]: @\n[^2]: @",
    "[^1]: @\n\n    @", "W W\n: @\n: @", "W\n\n:   @\n    @", "*[HTML]: W W\n*[CSS]: W", "(W)=\n# @", "$$\nW_1 + W\n$$",
    "\\[\nW_1 \\cdot W\n\\]", "```W\nW W\n```", "~~~\nW\n~~~", "    W W\n", "import W from './W'\nimport {W} from \"W\"",
    "export const W = {\n  W: 'W W',\n}", "<Tabs values={[{label: 'W'}]}>\n<TabItem value=\"W\">\n\n@\n\n</TabItem>\n</Tabs>\n",
    "<Card\n  W=\"W W\"\n>\n@\n</Card>", "<Card {...W}>\n@\n</Card>", "{/* W W */}\n@", "[ref]: http://W.x \"W\"", "| W | W W |\n|---|:-:|\n| *W* | `W \\| x` |\n| W \\| W | W |",
    "W W\n===", "@\n---", "***", "<div>\nW <b>W</b>\n</div>\n", "<!-- W -->\n", "{% include W.html %}\n@", "{{< toc >}}", "[[toc]]", "[TOC]",
    "- @\n\n  {: .W}\n- @\n  {{< W >}}\n  @\n  {{< /W >}}", "- @\n  $$h_{max} = \\text{W}$$", "%%\nW W\n%%", "<details>\n<summary>W</summary>\n\n@\n</details>\n",
    "{% raw %}\nW {{ W }}\n{% endraw %}", "@  \n@", "@\\\n@", "@\u00a0\n\n@", "<my-x a=\"b\">@</my-x>", "{#W}", "@ ^W1", "    !!! note", "[other]: /W",
    "\\begin{align}\na_1 &= W \\\\\n\\end{align}",
]  # fmt: skip


def documents() -> st.SearchStrategy[str]:
    return st.builds(
        _document,
        st.randoms(use_true_random=True),
        st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=5),
        st.sampled_from(["\n\n", "\r\n\r\n", "\n"]),
    )


def _document(random: Random, blocks: list[str], gap: str) -> str:
    def inline(_: re.Match[str]) -> str:
        return "W " + " ".join(random.choices(INLINE, k=random.randint(1, 5))) + random.choice([" W.", " W"])

    text = gap.join(re.sub("@", inline, block) for block in blocks) + "\n"
    return re.sub(r"\bW\b", lambda _: random.choice(list(WORDS)), text)


def translated(translate: Callable[[str], str]) -> Callable[[Entry], TargetText]:
    """Return what translates each word of an entry."""

    def say(entry: Entry) -> TargetText:
        parts = _TAGS.split(noted(entry.marked)) if not entry.marked.is_plain else [entry.text]
        said = "".join(
            part if i % 2 else _WORD.sub(lambda word: translate(word[0]), part)
            for i, part in enumerate(parts)
        )
        return target_text(MarkedText(said) if entry.marked.is_plain else unnoted(said, entry.marked))

    return say


def skeleton(markdown: str) -> tuple[str, list[str]]:
    """Return what is no word, with a blank for all white space, and the containers of each line."""
    words = re.sub(r"\n[ >]*", "\n", _WORD.sub("", markdown))
    return re.sub(r"\s+", " ", words), re.findall(r"^[ >]*", markdown, re.MULTILINE)


@settings(max_examples=300)
@given(documents())
def test_without_its_words_a_file_is_the_same_bytes_in_any_dialect(markdown: str) -> None:
    result = rewritten(MARKDOWN, markdown.encode(), translated(lambda word: WORDS.get(word, word)))

    assert skeleton(result.decode()) == skeleton(markdown)


@settings(max_examples=300)
@given(documents())
def test_a_file_of_any_dialect_is_accepted_and_comes_back(markdown: str) -> None:
    assert rewritten(MARKDOWN, markdown.encode(), own) == markdown.encode()


@pytest.mark.parametrize(
    "block",
    [
        "```W\nW W\n```", "$$\nW_1 + W\n$$", "\\[\nW_1 \\cdot W\n\\]", "{{< card\n  header=\"**W**\"\n  footer=\"W\"\n>}}", "%%\nW W\n%%",
        "{% highlight ruby %}\nputs \"W W\"\n{% endhighlight %}", "{{< highlight go >}}\npackage W\n{{< /highlight >}}", "{/* W W */}",
        "export const W = {\n  W: 'W W',\n}", "import {\n  W,\n} from 'W'", "{% raw %}\nW {{ W }}\n{% endraw %}", "{: .W}", "(W)=", "{{% W W=W %}}",
        "<Card\n  W=\"W W\"\n>\n</Card>", ":::{figure} W.png\n:W: W W\n:::", "\\begin{align}\nW_1\n\\end{align}", "$W_1 = W$", "\\(W_1\\)", "![[W W.png]]",
        "---\nslug: W\n---",
    ],
)  # fmt: skip
def test_what_a_dialect_owns_is_no_text(block: str) -> None:
    assert entries(MARKDOWN, block.replace("W", "Haus").encode()) == []


@pytest.mark.parametrize(
    ("markdown", "said", "result"),
    [
        ("# Hallo!\n", "Hello!", "# Hello!\n"),
        ("Siehe \\[das\\].\n", "See [that].", "See \\[that\\].\n"),
        ("Siehe [1].\n", "See [1].", "See [1].\n"),
        ("Hund &amp; Haus\n", "dog & house", "dog &amp; house\n"),
        ("Preis\n", "price $x$", "price \\$x\\$\n"),
        (
            "> Das ist ein Haus.\n> Es ist grün.\n",
            "This is a house. It is green.",
            "> This is a house.\n> It is green.\n",
        ),
        ("eins\nzwei\ndrei\n", "one", "one\n"),
        ("Ein Satz\u00a0\n\nja\n", "a sentence", "a sentence\u00a0\n\nja\n"),
        ('!!! note "Titel"\n    ja\n', 'title "x"', '!!! note "title "x""\n    ja\n'),
    ],
)
def test_signs_are_written_as_the_source_writes_them_and_lines_stay(
    markdown: str, said: str, result: str
) -> None:
    translations = iter([said])

    found = rewritten(MARKDOWN, markdown.encode(), lambda entry: next(translations, own(entry)))

    assert found.decode() == result


FRONT = (
    "---\ntitle: 'Unser Haus'\ndescription: Ein Haus: grün\nslug: haus\nparams:\n  title: x\n---\n\nHund\n"
)


def test_titles_and_summaries_of_front_matter_are_texts_or_what_columns_name() -> None:
    front = FRONT.replace("Haus: grün", "Haus.")

    assert texts(MARKDOWN, front.encode()) == ["Unser Haus", "Ein Haus.", "Hund"]
    named = MarkdownFormat(FileOptions("de", "en", ("params.title",)))
    assert texts(named, front.encode()) == ["x", "Hund"]
    result = rewritten(MARKDOWN, front.encode(), lambda entry: f"{entry.text}: it's")
    assert "title: 'Unser Haus: it''s'\ndescription: \"Ein Haus.: it's\"\nslug: haus" in result.decode()


TOML = """+++\r
title = 'Haus "grün"' # ja\r
slug = "haus"\r
weight = 1\r
summary = \"\"\"
title = "nein"\"\"\"
[params]
title = "x"
+++
Hund
"""


def test_strings_of_toml_in_front_matter_are_texts() -> None:
    assert texts(MARKDOWN, TOML.encode()) == ['Haus "grün"', "Hund"]
    named = MarkdownFormat(FileOptions("de", "en", ("params",)))
    assert texts(named, TOML.encode()) == ["x", "Hund"]
    result = rewritten(MARKDOWN, TOML.encode(), lambda entry: f"{entry.text} ö")
    assert result.decode() == TOML.replace("'Haus \"grün\"'", r'"Haus \"grün\" ö"').replace("Hund", "Hund ö")


@pytest.mark.parametrize("front", [FRONT, "+++\ntitle = 'Haus'\nno toml\n+++\nHund\n"])
def test_front_matter_that_cannot_be_read_stays(front: str) -> None:
    assert texts(MARKDOWN, front.encode()) == ["Hund"]
