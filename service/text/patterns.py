"""Patterns of what a translation must keep as it is: placeholders, tags, addresses, paths, code.

All patterns take linear time: a repetition cannot match one part of a text in two ways, and look-behinds keep
a run of characters from being tried again from each of its characters.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from unicodedata import category

from service.text.marked_text import Object, Shown
from service.text.searching import find_all, never_pause


@dataclass(frozen=True, slots=True)
class SpanKind:
    """Kind of protected span."""

    name: str
    pattern: str
    """Regular expression, verbose, without groups that capture."""
    shown: Shown = Shown.COPY
    is_syntax: bool = True
    """Whether a program reads it, so that a translation must not have more of it than its source."""


_FLAGS = r"[-+0\#']*+(?:\*|\d+)?+(?:\.(?:\*|\d+))?+(?:hh|h|ll|l|L|q|j|z|t)?"
_NOT_IN_PERCENTAGE = r"(?<![\d%])(?<!\d[ \u00a0\u202f])"
"""Excludes `10 %ige`."""
_NO_LETTER = r"(?![^\W\d_])"
_ENDINGS = (
    "bak|bat|bin|bz2|cfg|conf|cpp|css|csv|dll|docx?|exe|gif|gz|html?|ini|jar|java|jpe?g|json|js|log|md|mo|"
    "mp[34]|ods|odt|pdf|php|png|pot?|ps1|py|rb|rs|rst|sh|sql|svg|tar|tex|tiff?|toml|ts|txt|xlsx?|xml|"
    "xz|ya?ml|zip"
)
_ROOTS = "bin|boot|dev|etc|home|lib|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var"
_HTML = (
    "a|abbr|b|bdi|bdo|br|cite|code|del|dfn|em|h[1-6]|hr|i|img|ins|kbd|li|mark|ol|p|pre|q|s|samp|small|span|"
    "strong|sub|sup|td|th|tr|tt|u|ul|var|wbr"
)
_CODE = ("code", "kbd", "samp", "var")
_ATTRIBUTES = r"(?:\s+[\w:.@-]+\s*=\s*(?:\"[^\"<>]*+\"|'[^'<>]*+'))"
_URL = (
    r"(?:[^\s<>\"'`()\[\]|\\^«»„“”\u201a\u2018\u2019.,;:!?*]|\([^\s()<>\"]*+\)"
    r"|[.,;:!?*']++(?=[\w/\#&=%~+{-]))"
)

_DOMAINS = (
    "ai|app|at|au|be|biz|br|ca|ch|cn|com|cz|de|dev|dk|edu|es|eu|fi|fr|gov|hu|ie|info|int|io|it|jp|kr|mil|nl|nz|"
    "online|org|net|pl|pt|ro|ru|se|shop|sk|tv|tw|ua|uk|us|wiki|xyz"
)
"""Endings of bare domains; none of those that are frequent words, as a blank may lack: `Er kam.am Abend`."""
_LETTER = r"[\w\u0300-\u036f]"
_FLUENT_ARGUMENTS = r"(?:\((?:[^()\"{}]|\"[^\"\n]*+\"){0,500}+\))"
_RANGE_END = r"(?:-?(?:\d{1,9}+|Inf)|\*)"
_RANGE = rf"[\[\]]{_RANGE_END},[ ]?{_RANGE_END}[\[\]]"
_EXACTLY = r"\{(?:\d{1,9}+|\*)\}"

KINDS = (
    SpanKind("code", r"`[^`\n]{1,200}+`", is_syntax=False),
    SpanKind("code element", "|".join(f"<{tag}>[^<>\\n]{{1,200}}+</{tag}>" for tag in _CODE)),
    SpanKind(
        "url",
        rf"(?<!\w)(?:(?:https?|ftps?|file|git|s3|sftp|ssh)://|www\.(?=\w)){_URL}++",
        is_syntax=False,
    ),
    SpanKind(
        "address",
        r"(?<![\w.+-])[A-Za-z0-9][\w.+-]{0,63}+@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++(?<=[A-Za-z]{2})",
        is_syntax=False,
    ),
    SpanKind(
        "domain",
        rf"""
          (?<![\w@./-])(?:(?!\d++\.)[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9-]))*+\.)+?(?<=[\w-]{{2}}\.)
          (?:{_DOMAINS})(?!\w|-[a-z0-9]|\.\w)(?:(?::\d{{1,5}}+)?/{_URL}*+)?
        """,
        is_syntax=False,
    ),
    SpanKind(
        "name",
        rf"""
          (?<![\w@%./+-])@(?=[^\W\d_]|\w{{2}}){_LETTER}++(?:[.-]{_LETTER}++)*+(?:@[\w-]++(?:\.[\w-]++)++)?(?![@\w])
        | (?<![\w&\#/])\#_*+[^\W\d_]{_LETTER}*+ | (?<![\w&\#/])\#\d++[^\W\d]{_LETTER}*+
        | (?<![\w/.:-])/?[ur]/\w[\w-]{{2,30}}+(?!/)
        """,
        is_syntax=False,
    ),
    SpanKind(
        "choice",
        rf"""
          \|[ ]?(?:{_RANGE}|{_EXACTLY}) | (?<=[^\W_])\|(?=[^\W_])(?![^\[\]<>|\n]{{1,200}}+(?:\]\]|>))
        | \A(?:{_RANGE}|{_EXACTLY})(?=[^|\n]{{0,500}}+\|[ ]?[\[\]{{])
        """,
        Shown.BREAK,
    ),
    SpanKind("mention", r"<(?:[@\#!:]|a:|t:)[^<>\s|]{1,80}+(?:\|[^<>|\n]{1,80}+)?>"),
    SpanKind("range", rf"\A{_RANGE}"),
    SpanKind(
        "template",
        r"""
          \{\{\{[^{}\n]{1,200}+\}\}\} | \{\{[^{}\n]{1,200}+\}\}
        | \{%[^{}%\n]{1,200}+%\} | <%[^%\n]{1,200}+%>
        """,
    ),
    SpanKind("override", r"\{\\[A-Za-z0-9&().,\\+-]{1,100}+\}"),
    SpanKind("fill", r"_{3,}+|(?<!\S)\.{4,}+|={4,}+|-{4,}+|\*{4,}+|~{4,}+|\#{4,}+", is_syntax=False),
    SpanKind("ruby", r"[\#%]\{[\w.]++\} | %<\w++>[sdifx]?"),
    SpanKind("dollars", r"(?<!\$)\$[A-Za-z_@][A-Za-z0-9_@]*+\$(?![\w$])"),
    SpanKind(
        "shell",
        r"""
          \$\{[^{}\s]{1,100}+\} | \$\([\w.:-]++\) | \$t\([^()\n]{1,200}+\)
        | (?<![\w$])\$[A-Z_][A-Z0-9_]{2,}+(?![a-z]) | (?<![\w$])\$[a-z_]\w++(?!\$)
        """,
    ),
    SpanKind("unnamed brace", r"\{\}", Shown.STRING),
    SpanKind(
        "brace",
        r"""
          \{\s*[\w.-]++\s*,\s*(?:number|date|time|spellout|ordinal|duration|list)\b[^{}]{0,100}+\}
        | \{[ ]?[\w.\[\]-]++[ ]?(?:![rsa])?(?:,[ ]?-?\d{1,4}+)?(?::[^{}\s]{0,60}+)?\}
        | \{\d++(?:,[ ]?-?\d{1,4}+)?:[^{}\n]{0,60}+\}
        """,
    ),
    SpanKind(
        "fluent",
        rf"\{{\s{{0,20}}+(?:(?:-|\$)?[A-Za-z][\w.-]*+{_FLUENT_ARGUMENTS}?|\"[^\"\n]{{0,200}}+\")\s{{0,20}}+\}}",
    ),
    SpanKind(
        "printf",
        rf"%(?:\d++\$)?\#@\w++@ | %(?:\(\w++\)|\d++\$)[ ]?{_FLAGS}[diouxXeEfFgGaAcrspn@] | %\(\w++\)",
    ),
    SpanKind(
        "printf string",
        rf"{_NOT_IN_PERCENTAGE}%{_FLAGS}s | %{_FLAGS}[scrpa@]{_NO_LETTER}",
        Shown.STRING,
    ),
    SpanKind(
        "printf number",
        rf"{_NOT_IN_PERCENTAGE}%{_FLAGS}d | %{_FLAGS}[diouxXeEfFgGn]{_NO_LETTER}",
        Shown.NUMBER,
    ),
    SpanKind("numbered", r"(?:(?<![\d%])|(?<=%\d))%L?\d{1,2}+(?!\d|%(?!L?\d))"),
    SpanKind("percent sign", r"%%", Shown.LITERAL),
    SpanKind(
        "marker",
        r"""
          (?<![\w@])@@\w++@@ | (?<!\w)__(?:[A-Za-z0-9]++_?)++_(?!\w) | \[\[\d++\]\]
        | (?<![=\w])==[A-Z]++(?:_[A-Z]++)++==(?![=\w])
        """,
    ),
    SpanKind("entity", r"&(?:[A-Za-z][A-Za-z0-9]{1,31}+|\#\d{1,7}+|\#[xX][0-9A-Fa-f]{1,6}+);"),
    SpanKind("line break", r"<br\s*+>|<[Bb][Rr]\s*+/>", Shown.BREAK),
    SpanKind("empty tag", rf"<[A-Za-z][\w:.-]*+{_ATTRIBUTES}*+\s*/>|<\d{{1,3}}+/>|<(?:hr|wbr)>"),
    SpanKind(
        "tag",
        rf"""
          <(?:{_HTML}){_ATTRIBUTES}*+\s*> | <[A-Za-z][\w:.-]*+{_ATTRIBUTES}++\s*> | </[A-Za-z][\w:.-]*+\s*>
        | </?\d{{1,3}}+>
        """,
            ),
    SpanKind(
        "option",
        r"(?<![\w-])--[A-Za-z][\w-]*+(?:=[^\s,;.<>\"'`){}]++)?(?![^\n]{0,200}?\w--(?:\W|$))",
        is_syntax=False,
    ),
    SpanKind(
        "path",
        rf"""
          (?<!\w)[A-Za-z]:\\(?:[\w.$ @+-]++\\)*+[\w.$@+-]*+
        | (?<![\w/.:~<-])(?:~|\.{{1,2}}+)?/(?:[\w.@+-]++/)++[\w.@+-]*+
        | (?<![\w/.:~<-])(?:~|\.{{1,2}}+)/[\w@+-][\w.@+-]*+
        | (?<![\w/.:~<-])/(?:{_ROOTS})\b
        | (?<![\w/.@~+-])(?:[\w@+-][\w.@+-]*+/)*+[\w+-]++(?:\.(?!(?:{_ENDINGS})(?![\w-]))[\w-]++)*+
          \.(?:{_ENDINGS})(?![\w/-])
        """,
        is_syntax=False,
    ),
    SpanKind(
        "version",
        r"""
        (?<![\w.,/-])(?!\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2})(?!\w|\.\d))  # no date
        (?!\d{1,3}(?:\.\d{3})+(?![\w.]))  # no large number
        v?\d{1,5}+(?:\.\d{1,5}){2,5}+(?:[-+](?:\w++\.)*+\w++)?(?!\w|\.\d)
        """,
        is_syntax=False,
    ),
)  # fmt: skip
"""All kinds; of two that match at one position, the first counts."""

_NAMES = [f"k{i}" for i in range(len(KINDS))]
_ALTERNATIVES = "|".join(f"(?P<{name}>{kind.pattern})" for name, kind in zip(_NAMES, KINDS, strict=True))
# None begins within a word or with white space: saying so once makes the search of prose four times as fast.
_ALL = re.compile(rf"(?!\B\w|\s)(?:{_ALTERNATIVES})", re.VERBOSE)
_VARIANT = r"\*?\[[ ]?[A-Za-z0-9][\w.-]{0,60}+[ ]?\]"
_SELECT = re.compile(
    rf"\{{\s{{0,20}}+(?:-|\$)?[A-Za-z][\w.-]{{0,100}}+{_FLUENT_ARGUMENTS}?\s{{0,20}}+->\s{{0,20}}+{_VARIANT}"
)
"""Beginning of a choice in Fluent's messages, `{ $n -> [one]`; its variants are texts of their own."""


@lru_cache(maxsize=1)
def in_select() -> re.Pattern[str]:
    """Return the pattern for texts with a choice; few processes see one."""
    select = rf"{_SELECT.pattern}|(?:\s{{0,20}}+\}}\s{{0,20}}+)?{_VARIANT}|\}}"
    return re.compile(rf"(?P<select>{select})|{_ALL.pattern}", re.VERBOSE)


_BY_NAME = {
    "select": SpanKind("select", "", Shown.BREAK),
    **dict(zip(_NAMES, KINDS, strict=True)),
}
_SIGN = re.compile(
    rf"[%{{$<&@`~\\/|]|\#[\w\#]|--|===|\*{{4}}|\.{{4}}|__|==[A-Z]|\[\[|[\[\]][-\d*I]|www\.|\d\.\d|\.(?:{_ENDINGS}|{_DOMAINS})\b"
)
"""Occurs in each protected span: most texts have none, and are searched for nothing else."""
_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Controls of the direction of writing."""
_TRAILING = ".,;:!?"
_HEADING = re.compile(r"\s+[^\W\d_a-z]")


def find_spans(text: str, pause: Callable[[], None] = never_pause) -> tuple[Object, ...]:
    """Return the protected spans of a text, in order; they do not overlap. `pause` is called now and then."""
    if _SIGN.search(text) is None:
        return ()
    spans = list[Object]()
    end = 0
    pattern = _ALL if _SELECT.search(text) is None else in_select()
    for found in find_all(pattern, text, pause):
        span = _span(text, found)
        if span is not None:
            span = _with_controls(text, span, end)
            end = span.end
            spans.append(span)
    return tuple(spans)


def _span(text: str, found: re.Match[str]) -> Object | None:
    kind = _BY_NAME[found.lastgroup or ""]
    start, end = found.span()
    if kind.name in {"path", "option"}:
        end = start + len(found[0].rstrip(_TRAILING))
    elif kind.name == "version" and _is_number_of_heading(text, start, end):
        return None
    elif found[0] == "|" and text[0].isupper() != text[end].isupper():
        return None  # in `Wählen Sie ja|nein`, no further text begins
    return Object(start, end, kind.shown, is_syntax=kind.is_syntax)


def _with_controls(text: str, span: Object, first: int) -> Object:
    """Return a span with the controls of direction that touch it, and the combining marks at its end."""
    start, end = span.start, span.end
    while start > first and text[start - 1] in _CONTROLS:
        start -= 1
    while end < len(text) and (
        text[end] in _CONTROLS or (text[end] > "\u02ff" and category(text[end])[0] == "M")
    ):
        end += 1
    return span if end - start == span.end - span.start else replace(span, start=start, end=end)


def _is_number_of_heading(text: str, start: int, end: int) -> bool:
    """Return whether `2.1.3 Title` begins a line: segmentation keeps such a number."""
    is_at_start = start == 0 or text[start - 1] == "\n"
    return is_at_start and _HEADING.match(text, end) is not None
