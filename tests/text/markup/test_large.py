"""Hostile markup takes linear work and no stack."""

from collections.abc import Callable

import pytest

from service.text.options import MarkupLanguage, MarkupOptions
from tests.linear import is_linear
from tests.text.markup.marked import parse
from tests.text.markup.translations import as_it_is, translation

UNFINISHED = (
    "<!--", "<a ", "<a b='", "<a b=c", "<a b='&amp;' ", "</a", "<?", "<![CDATA[", "&#;", "&", "<", "]",
    "<svg>", "<script>", "<script><!--", "<title>", "<plaintext></>", "<svg><![CDATA[", "<!-- <title>",
)  # fmt: skip
"""Little is found in these, and much of it looked for to the end."""
UNITS = (
    "<b>", "<div>x", "<b><hr>", "<p><b>x", "</b>x ", "<img> x ", "<!---->x ", "<!----> ", "</>", "a</>",
    "&notit;", "<svg><title>", "<noscript>", "<svg><![CDATA[]]>", "<svg></svg>",
    "<p>Hello <b>big <i>world</i></b>.</p>\n",
)  # fmt: skip
DEEP = {
    "deep": lambda size: "a <b>" * size + "x" + "</b> c" * size,
    "deep around one word": lambda size: "w <b>" + "<b>" * size + "x" + "</b>" * size + " y</b> z",
}
DOCUMENTS: dict[str, Callable[[int], str]] = {
    **{unit: unit.__mul__ for unit in (*UNFINISHED, *UNITS, "<b>a</b> ")},
    **DEEP,
}


@pytest.mark.parametrize("title", DOCUMENTS)
def test_work_is_linear_in_the_size_of_html(title: str) -> None:
    def translate(size: int) -> None:
        html = DOCUMENTS[title](size)
        marked_up = parse(html, MarkupOptions(MarkupLanguage.HTML))

        assert marked_up.translate(as_it_is) == html
        marked_up.translate(lambda text: translation(f"x {text}", []))

    assert is_linear(translate, 50)


@pytest.mark.parametrize("title", DEEP)
def test_depth_of_html_takes_no_stack(title: str) -> None:
    html = DEEP[title](5000)

    assert parse(html, MarkupOptions(MarkupLanguage.HTML)).translate(as_it_is) == html


def test_xml_as_deep_as_may_be_is_translated() -> None:
    xml = "<b>a " * 999 + "x" + "</b>" * 999
    marked_up = parse(xml, MarkupOptions(MarkupLanguage.XML))

    translated = marked_up.translate(lambda text: translation(f"x {text}", []))

    assert translated.count("<b>") == translated.count("</b>") == 999
