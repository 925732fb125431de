"""Hostile markup takes linear time and no stack: any of these would run into the time limit otherwise."""

import pytest

from service.text.options import MarkupLanguage, MarkupOptions
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
DEEP = 5000
DOCUMENTS = {
    **{unit: unit * (400_000 // len(unit)) for unit in UNFINISHED},
    **{unit: unit * (80_000 // len(unit)) for unit in UNITS},
    "deep": "a <b>" * DEEP + "x" + "</b> c" * DEEP,
    "deep around one word": "w <b>" + "<b>" * DEEP + "x" + "</b>" * DEEP + " y</b> z",
    "many siblings": "<b>a</b> " * DEEP,
}


@pytest.mark.timeout(60)
@pytest.mark.parametrize("html", DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_time_is_linear_in_the_size_of_html(html: str) -> None:
    marked_up = parse(html, MarkupOptions(MarkupLanguage.HTML))

    assert marked_up.translate(as_it_is) == html
    marked_up.translate(lambda text: translation(f"x {text}", []))


@pytest.mark.timeout(60)
def test_xml_as_deep_as_may_be_is_translated() -> None:
    xml = "<b>a " * 999 + "x" + "</b>" * 999
    marked_up = parse(xml, MarkupOptions(MarkupLanguage.XML))

    translated = marked_up.translate(lambda text: translation(f"x {text}", []))

    assert translated.count("<b>") == translated.count("</b>") == 999
