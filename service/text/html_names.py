"""Properties of HTML elements, by name."""


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


VOID = _names("area base br col embed hr img input link meta param source track wbr basefont bgsound frame")
"""Elements without an end tag."""

LINE_BREAK = "br"
"""Element that ends a line, and the text in it."""

RUBY_TEXT = _names("rt rp rtc")
"""Readings of words, which are no part of their sentence."""

NO_ROOM = RUBY_TEXT | _names("area param source track wbr script style")
"""Zero-width elements."""

_ENDS_P = _names(
    """address article aside blockquote center details dialog dir div dl fieldset figcaption figure footer
    form h1 h2 h3 h4 h5 h6 header hgroup hr li dd dt listing main menu nav ol p plaintext pre search section
    summary table ul xmp"""
)

BLOCKS = _ENDS_P | _names(
    """base body button caption col colgroup frame frameset head html legend link meta noscript optgroup
    option select tbody td template tfoot th thead title tr"""
)
"""Elements that separate texts."""

IGNORED = RUBY_TEXT | _names(
    "code kbd samp var script style textarea svg math iframe noembed noframes xmp plaintext"
)
"""Elements without running text, or with text that must stay as it is."""

KEEPS_SPACE = _names("pre listing")

RAW_TEXT = _names("script style xmp iframe noembed noframes textarea title plaintext")
"""Elements that hold no tags but their own end tag."""

RAW_TEXT_WITH_SCRIPTS = RAW_TEXT | {"noscript"}
"""`RAW_TEXT` for readers that run scripts."""

FOREIGN = _names("svg math")
"""Elements in which `/>` ends an element and CDATA sections are recognised."""

_ROWS = _names("tr tbody thead tfoot")
ENDED_BY: dict[str, frozenset[str]] = {
    "p": _ENDS_P,
    "li": _names("li"),
    "dt": _names("dt dd"),
    "dd": _names("dt dd"),
    "option": _names("option optgroup"),
    "optgroup": _names("optgroup"),
    "td": _names("td th") | _ROWS,
    "th": _names("td th") | _ROWS,
    "tr": _ROWS,
    "thead": _names("tbody tfoot"),
    "tbody": _names("tbody tfoot"),
    "tfoot": _names("tbody"),
    "head": _names("body"),
    "caption": _names("colgroup col") | _ROWS,
}
"""Elements whose end tag may be missing, each with the start tags that end it."""
