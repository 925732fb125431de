"""What did not change stays byte for byte."""

from hypothesis import given, settings
from hypothesis import strategies as st

from service.markup.html_tokens import html_tokens
from service.markup.marked_up import parse
from service.markup.options import MarkupLanguage, MarkupOptions
from service.markup.xml_tokens import xml_tokens
from tests.markup.documents import HTML, HTML_OPTIONS, XML, XML_OPTIONS
from tests.markup.translations import as_it_is


@settings(max_examples=1500)
@given(HTML, HTML_OPTIONS)
def test_html_translated_to_itself_is_itself(html: str, options: MarkupOptions) -> None:
    marked_up = parse(html, options)

    assert marked_up.rejoin([as_it_is(text) for text in marked_up.blocks]) == html


@settings(max_examples=1500)
@given(XML, XML_OPTIONS)
def test_xml_translated_to_itself_is_itself(xml: str, options: MarkupOptions) -> None:
    marked_up = parse(xml, options)

    assert marked_up.rejoin([as_it_is(text) for text in marked_up.blocks]) == xml


@given(HTML, HTML_OPTIONS)
def test_tokens_of_html_are_all_of_it(html: str, options: MarkupOptions) -> None:
    assert "".join(token.raw for token in html_tokens(html, options)) == html


@given(XML, XML_OPTIONS)
def test_tokens_of_xml_are_all_of_it(xml: str, options: MarkupOptions) -> None:
    assert "".join(token.raw for token in xml_tokens(xml, options)) == xml


@given(st.text(st.characters(exclude_categories=()) | st.sampled_from("<>&/!-#;"), max_size=40))
def test_any_text_is_html(text: str) -> None:
    marked_up = parse(text, MarkupOptions(MarkupLanguage.HTML))

    assert marked_up.rejoin([as_it_is(block) for block in marked_up.blocks]) == text
