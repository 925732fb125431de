"""Properties of HTML elements, by name."""

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
"""Elements without an end tag."""

LINE_BREAK = "br"
"""Element that ends a line, and the text in it."""

NO_ROOM = frozenset(["area", "param", "source", "track", "wbr", "script", "style"])
"""Zero-width elements."""

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
"""Elements that separate texts."""

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
"""Elements without running text, or with text that must stay as it is."""

KEEPS_SPACE = frozenset(["pre", "listing"])

RAW_TEXT = frozenset(
    ["script", "style", "xmp", "iframe", "noembed", "noframes", "textarea", "title", "plaintext"]
)
"""Elements that hold no tags but their own end tag."""

RAW_TEXT_WITH_SCRIPTS = RAW_TEXT | {"noscript"}
"""`RAW_TEXT` for readers that run scripts."""

FOREIGN = frozenset(["svg", "math"])
"""Elements in which `/>` ends an element and CDATA sections are recognised."""

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
