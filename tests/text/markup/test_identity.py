"""What did not change stays byte for byte."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from service.text.html_tokens import html_tokens
from service.text.options import MarkupError, MarkupLanguage, MarkupOptions
from service.text.xml_tokens import xml_tokens
from tests.text.markup.documents import HTML, HTML_OPTIONS, XML, XML_OPTIONS
from tests.text.markup.marked import parse
from tests.text.markup.translations import as_it_is


@settings(max_examples=1000)
@given(st.tuples(HTML, HTML_OPTIONS) | st.tuples(XML, XML_OPTIONS))
@example(("Hello<b>x </b><b></b>", MarkupOptions(MarkupLanguage.XML)))
def test_markup_translated_to_itself_is_itself(case: tuple[str, MarkupOptions]) -> None:
    markup, options = case
    tokens = html_tokens if options.language is MarkupLanguage.HTML else xml_tokens

    assert "".join(token.raw for token in tokens(markup, options)) == markup
    assert parse(markup, options).translate(as_it_is) == markup


_ANYTHING = st.text(st.characters(exclude_categories=()) | st.sampled_from("<>&/!-#;"), max_size=40)
_TOKENS = [
    "<p>", "</p>", "a <b>c</b> d.", "<doc a='1'>", "</doc>", "<b>", "</b>", "<p", ">", "<!--", "-->", "<?",
    "&", "<![CDATA[", "]]>", "&#x110000;", "&#0;", "<svg>", "<script>", "</script", "<textarea>", "\0", "'",
    '"', "=", "/>", "\ud800", "<!DOCTYPE a [<!ENTITY b 'c'>]>", "&b;", "xmlns:x='y'", "<x:y/>",
    "<?xml version",
]  # fmt: skip


@settings(max_examples=300)
@given(_ANYTHING | st.lists(st.sampled_from(_TOKENS), max_size=10).map("".join), XML_OPTIONS | HTML_OPTIONS)
def test_any_text_is_html_and_is_xml_or_rejected(text: str, options: MarkupOptions) -> None:
    try:
        marked_up = parse(text, options)
    except MarkupError:
        assert options.language is MarkupLanguage.XML
        return

    assert marked_up.translate(as_it_is) == text
