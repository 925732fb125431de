"""What elements of HTML are."""

VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "param",
        "source",
        "track",
        "wbr",
        "basefont",
        "bgsound",
        "frame",
    ]
)
"""Have no end tag."""

LINE_BREAK = "br"
"""Ends a line, and the text in it."""

NO_ROOM = frozenset(["area", "param", "source", "track", "wbr", "script", "style"])
"""Take no room in a line."""

BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "base",
        "blockquote",
        "body",
        "button",
        "caption",
        "center",
        "col",
        "colgroup",
        "dd",
        "details",
        "dialog",
        "dir",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "frame",
        "frameset",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "header",
        "hgroup",
        "hr",
        "html",
        "legend",
        "li",
        "link",
        "listing",
        "main",
        "menu",
        "meta",
        "nav",
        "noscript",
        "ol",
        "optgroup",
        "option",
        "p",
        "plaintext",
        "pre",
        "search",
        "section",
        "select",
        "summary",
        "table",
        "tbody",
        "td",
        "template",
        "tfoot",
        "th",
        "thead",
        "title",
        "tr",
        "ul",
        "xmp",
    ]
)
"""Part texts."""

IGNORED = frozenset(
    [
        "code",
        "kbd",
        "samp",
        "var",
        "script",
        "style",
        "textarea",
        "svg",
        "math",
        "iframe",
        "noembed",
        "noframes",
        "xmp",
        "plaintext",
    ]
)
"""Hold no running text, or text that must stay as it is."""

KEEPS_SPACE = frozenset(["pre", "listing"])

RAW_TEXT = frozenset(
    ["script", "style", "xmp", "iframe", "noembed", "noframes", "textarea", "title", "plaintext"]
)
"""Hold no tags but their own end tag."""

RAW_TEXT_WITH_SCRIPTS = RAW_TEXT | {"noscript"}
"""The same for readers that run scripts."""

FOREIGN = frozenset(["svg", "math"])
"""Where `/>` ends an element and CDATA sections are known."""

_ROWS = frozenset(["tr", "tbody", "thead", "tfoot"])
_ENDS_P = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "center",
        "details",
        "dialog",
        "dir",
        "div",
        "dl",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hgroup",
        "hr",
        "li",
        "dd",
        "dt",
        "listing",
        "main",
        "menu",
        "nav",
        "ol",
        "p",
        "plaintext",
        "pre",
        "search",
        "section",
        "summary",
        "table",
        "ul",
        "xmp",
    ]
)
ENDED_BY: dict[str, frozenset[str]] = {
    "p": _ENDS_P,
    "li": frozenset(["li"]),
    "dt": frozenset(["dt", "dd"]),
    "dd": frozenset(["dt", "dd"]),
    "option": frozenset(["option", "optgroup"]),
    "optgroup": frozenset(["optgroup"]),
    "td": frozenset(["td", "th"]) | _ROWS,
    "th": frozenset(["td", "th"]) | _ROWS,
    "tr": _ROWS,
    "thead": frozenset(["tbody", "tfoot"]),
    "tbody": frozenset(["tbody", "tfoot"]),
    "tfoot": frozenset(["tbody"]),
    "head": frozenset(["body"]),
    "caption": frozenset(["colgroup", "col"]) | _ROWS,
}
"""Elements whose end tag may be missing, each with the start tags that end it."""
