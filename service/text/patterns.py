"""Patterns of what a translation must keep as it is: placeholders, tags, addresses, paths, code.

All patterns take linear time: a repetition cannot match one part of a text in two ways, and look-behinds keep
a run of characters from being tried again from each of its characters.
"""

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from unicodedata import category

from service.text.marked_text import MarkKind, Object, Shown, pair_nesting
from service.text.searching import find_all, never_pause


@dataclass(frozen=True, slots=True)
class SpanKind:
    """Kind of protected span."""

    name: str
    pattern: str
    """Regular expression, verbose, whose groups that capture have names."""
    shown: Shown = Shown.COPY
    is_syntax: bool = True
    """Whether a program reads it, so that a translation must not have more of it than its source."""


_FLAGS = r"[-+0\#']*+(?:\*|\d+)?+(?:\.(?:\*|\d+))?+(?:hh|h|ll|l|L|q|j|z|t)?"
_NO_PERCENTAGE = r"(?<![\d%])(?<!\d[ \u00a0\u202f])"
"""Excludes `10 %ige`."""
_NO_LETTER = r"(?![^\W\d_])"
_ENDINGS = (
    "bak|bat|bin|bz2|cfg|conf|cpp|css|csv|dll|docx?|exe|gif|gz|html?|ini|jar|java|jpe?g|json|js|log|md|mo|"
    "mp[34]|ods|odt|pdf|php|png|pot?|ps1|py|rb|rs|rst|sh|sql|svg|tar|tex|tiff?|toml|ts|txt|xlsx?|xml|"
    "xz|ya?ml|zip"
)
_ROOTS = "bin|boot|dev|etc|home|lib|mnt|opt|proc|root|run|sbin|srv|sys|tmp|usr|var"
_BRACKETS = (("<", ">"), ("[", "]"), ("{", "}"), ("(", ")"))
_EMPHASIS, _SIGILS = r"*_~=+^|", r"$%@\#&\\/"
"""Signs that stand around words, and signs that stand around or before names. Of the other signs of ASCII,
`. , ; : ! ?` end or part sentences, quotation marks and single brackets are of the words, `-` joins these.
"""
_NAME = r"[^\W_](?:[^\W_]|[_.:-](?=[^\W_])){0,60}+"
_ARGUMENTS = r"(?:\s+[\w:.@-]+(?:\s*=\s*(?:\"[^\"\n]*+\"|'[^'\n]*+'|[^\s\"'<>\[\](){}]++))?)"
_VALUE = r"=(?:\"[^\"\n]{0,200}+\"|'[^'\n]{0,200}+'|[^\s\"'<>\[\](){}]{1,500}+)"
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

_CONTROL = (
    r"(?:end)?(?:if|else|el(?:se|s)?if|unless|for|foreach|forelse|each|while|until|switch|case|when|otherwise|with|"
    r"range|block|blocktrans(?:late)?|plural|macro|section|list|include|import|extends|set|let|assign|do)|end"
)
"""Words that begin a statement of a template: what is before and after it are texts of their own."""


def _mirrored(num_signs: int) -> str:
    """Return the pattern of a name between some signs and their mirror."""
    opening = closing = ""
    for i in range(num_signs):
        names = {f"m{num_signs}{i}{k}": brackets for k, brackets in enumerate(_BRACKETS)}
        brackets = "|".join(rf"(?P<{name}>\{first})" for name, (first, _) in names.items())
        opening += rf"(?:{brackets}|(?P<m{num_signs}{i}>[{_EMPHASIS}{_SIGILS}]))"
        close = f"(?P=m{num_signs}{i})"
        for name, (_, last) in names.items():
            close = rf"(?({name})\{last}|{close})"
        closing = close + closing
    return rf"{opening}[ ]?{_NAME}[ ]?{closing}(?!(?<=[{_EMPHASIS}{_SIGILS}])\w)"


_AROUND_NAME = rf"""
  (?:(?=[<\[{{(])|(?<![\w:{_EMPHASIS}{_SIGILS}]))(?![<\[{{(](?:\*\*|__|~~|==|\+\+|\^\^|\|\|))
  (?=[{_SIGILS}]|[{{<](?:[^\w\s]|_)|[\[(][{_SIGILS}=+^|]|\[\[|\(\(|[=+^|][*_~<\[{{(]
  |(?P<emphasis>[{_EMPHASIS}])(?!(?P=emphasis))[=+^|{_SIGILS}])
"""
"""Beginning of signs that are no emphasis of words and no brackets of a sentence."""

KINDS = (
    SpanKind("words", rf"""
          `[^`\n]{{1,200}}+`(?!`) | ``(?:[^`\n]|`(?!`)){{1,200}}+``(?!`)
        | ```(?:[^`\n]|`{{1,2}}(?!`)){{1,200}}+```(?!`)
        | (?<!\w)(?:(?:https?|ftps?|file|git|s3|sftp|ssh)://|www\.(?=\w)){_URL}++
        | (?<![\w.+-])[A-Za-z0-9][\w.+-]{{0,63}}+@[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)++(?<=[A-Za-z]{{2}})
        | (?<![\w@./-])(?:(?!\d++\.)[A-Za-z0-9](?:[A-Za-z0-9]|-(?=[A-Za-z0-9-]))*+\.)+?(?<=[\w-]{{2}}\.)
          (?:{_DOMAINS})(?!\w|-[a-z0-9]|\.\w)(?:(?::\d{{1,5}}+)?/{_URL}*+)?
        | (?<![\w@%./+-])@(?=[^\W\d_]|\w{{2}}){_LETTER}++(?:[.-]{_LETTER}++)*+
          (?:@[\w-]++(?:\.[\w-]++)++)?(?![@\w])
        | (?<![\w&\#/])\#(?!_{{1,2}}{_NAME}_{{1,2}}\#)_*+[^\W\d_]{_LETTER}*+
        | (?<![\w&\#/])\#\d++[^\W\d]{_LETTER}*+
        | (?<![\w/.:-])/?[ur]/\w[\w-]{{2,30}}+(?!/)
        | _{{3,}}+ | (?<!\S)\.{{4,}}+ | ={{4,}}+ | -{{4,}}+ | \*{{4,}}+ | ~{{4,}}+ | \#{{4,}}+
    """, is_syntax=False),
    SpanKind("break", rf"""
          \|[ ]?(?:{_RANGE}|{_EXACTLY}) | (?<=[^\W_])\|(?=[^\W_])(?![^\[\]<>|\n]{{1,200}}+(?:\]\]|>))
        | \A(?:{_RANGE}|{_EXACTLY})(?=[^|\n]{{0,500}}+\|[ ]?[\[\]{{]) | <br\s*+/?>
        | \{{%[-~+]?\s*(?:(?P<whole>comment|raw|verbatim)\b[^%\n]{{0,100}}+%\}}(?:[^{{]|\{{(?!%))*+
          \{{%-?\s*end(?P=whole)\s*-?|(?:{_CONTROL})\b[^%\n]{{0,200}}+)%\}}
        | \[%\s*(?:{_CONTROL})\b[^%\n]{{0,200}}+%\]
        | <%(?![=\#@!-])[^%\n]{{1,300}}+%> | <\?(?!=|php\s+echo\b)[^?\n]{{1,300}}+\?>
        | \{{\{{[-~]?\s*(?:[\#^/]\s?(?:{_CONTROL})\b|(?:{_CONTROL})\s+(?=[^\s}}~-])|else\b|end\s*-?(?=\}}))
          [^{{}}\n]{{0,200}}+\}}\}}
        | \{{(?:(?:{_CONTROL})\s+[$!(][^{{}}\n]{{0,200}}+|else|/(?:if|for|foreach|while|section))\}}
        | </?[\#@](?:{_CONTROL})\b[^<>\n]{{0,200}}+>
    """, Shown.BREAK),
    SpanKind("template", rf"""
          \{{\{{\{{[^{{}}\n]{{1,200}}+\}}\}}\}} | \{{\{{[^{{}}\n]{{1,200}}+\}}\}} | <\?[^?\n]{{1,300}}+\?>
        | (?:(?P<angle><)|(?P<square>\[)|\{{)(?P<sign>[%\#$@])(?:(?!(?P=sign))[^\n]){{1,200}}+(?P=sign)
          (?(angle)>|(?(square)\]|\}}))
        | <(?P<code>code|kbd|samp|var)>[^<>\n]{{1,200}}+</(?P=code)> | \A{_RANGE}
        | {_AROUND_NAME}(?:{_mirrored(3)}|{_mirrored(2)})
        | (?<![\w$%])(?P<sigil>[$%])(?:\d++|@\w++|(?:[^\W\d](?=\w)|(?<=\$)[^\W\d])(?:\w|[.:-](?=\w)){{0,60}}+)
          (?P=sigil)(?![\w$%])
        | (?<![\w\#&/])\#{_NAME}\#(?![\w\#]) | (?<![\w|])\|{_NAME}\|(?![\w|])
        | (?<![\w$])\$\$[^$\n]{{1,300}}+\$\$
        | (?<![\w$\\])\$(?=[^\s$])(?=[^$\n\\^_={{}}]{{0,200}}+[\\^_={{}}])[^$\n]{{1,300}}+(?<!\s)\$(?!\w)
        | \\[(\[](?:[^\\\n]|\\(?![()\[\]])){{1,300}}+\\[)\]]
        | [$\#%]\{{[^{{}}\s]{{1,100}}+\}} | \$\([\w.:-]++\) | \$t\([^()\n]{{1,200}}+\)
        | %<\w++>[sdifx]? | (?<![\w$])\$(?:[A-Z_][A-Z0-9_]{{2,}}+(?![a-z])|[a-z_]\w++(?!\$))
        | \\(?:[a-z]{{0,4}}ref|cite[a-z]?|label|input|include|url|begin|end)\{{[^{{}}\n]{{0,200}}+\}}
        | \\[a-z]{{2,}}+\*?\{{ | \\[A-Z]++\[\d{{1,4}}+\] | §[0-9a-fk-or](?=[^\W_])|§r
    """),
    SpanKind("brace", rf"""
          \{{\s{{0,20}}+(?:[-$]?{_NAME}(?:\[[\w.-]++\])*+|\"[^\"\n]{{0,200}}+\")(?:{_FLUENT_ARGUMENTS}
          |[ ]?(?:![rsa])?[ ]?(?:,[ ]?-?\d{{1,4}}+)?(?::[^{{}}\s]{{0,60}}+)?
          |\s?,\s?(?:number|date|time|spellout|ordinal|duration|list)\b[^{{}}]{{0,100}}+)\s{{0,20}}+\}}
        | \{{\d++(?:,[ ]?-?\d{{1,4}}+)?:[^{{}}\n]{{0,60}}+\}}
        | \{{(?!\+\+|--|~~|==)[^\w\s{{}}\"']{{1,3}}+[\w(][^{{}}\n]{{0,100}}+\}}
        | %(?:\d++\$)?\#@\w++@ | %(?:\(\w++\)|\d++\$)[ ]?{_FLAGS}[diouxXeEfFgGaAcrspn@] | %\(\w++\)
    """),
    SpanKind("string", rf"\{{\}} | {_NO_PERCENTAGE}%{_FLAGS}s | %{_FLAGS}[scrpa@]{_NO_LETTER}", Shown.STRING),
    SpanKind("number", rf"{_NO_PERCENTAGE}%{_FLAGS}d | %{_FLAGS}[diouxXeEfFgGn]{_NO_LETTER}", Shown.NUMBER),
    SpanKind("percent sign", r"%%", Shown.LITERAL),
    SpanKind("marker", r"""
          (?<!\w)__(?=[A-Z]*+_|[A-Z]{2})(?:[A-Z0-9]++_?)++_(?!\w)
        | (?<![=\w])==[A-Z]++(?:_[A-Z]++)++==(?![=\w])
        | (?:(?<![\d%])|(?<=%\d))%L?\d{1,2}+(?!\d|%(?!L?\d))
        | &(?:[A-Za-z][A-Za-z0-9]{1,31}+|\#\d{1,7}+|\#[xX][0-9A-Fa-f]{1,6}+);
        | <(?:[@\#!:]|a:|t:)[^<>\s|]{1,80}+(?:\|[^<>|\n]{1,80}+)?>
    """),
    SpanKind("tag", "|".join(
        rf"\{a}(?:[\#@^$]?{_NAME}(?:{_VALUE})?{_ARGUMENTS}{{0,20}}+\s*/?|/[\#@^$]?{_NAME}\s*)\{b}"
        for a, b in _BRACKETS
    )),
    SpanKind("option", rf"""
          (?<![\w-])--[A-Za-z](?:\w|-(?=\w))*+(?:=[^\s,;.<>\"'`){{}}]++)?(?![^\n]{{0,200}}?(?<=\w)--(?:\W|$))
        | (?<!\w)(?:[A-Za-z]:\\|\\\\(?=[\w.$-]++\\))(?:[\w.$ @+-]++\\)*+[\w.$@+-]*+
        | (?<![\w/.:~<-])(?:~|\.{{1,2}}+)?/(?:[\w.@+-]++/)++[\w.@+-]*+
        | (?<![\w/.:~<-])(?:~|\.{{1,2}}+)/[\w@+-][\w.@+-]*+
        | (?<![\w/.:~<-])/(?:{_ROOTS})\b
        | (?<![\w/.@~+-])(?:[\w@+-][\w.@+-]*+/)*+[\w+-]++(?:\.(?!(?:{_ENDINGS})(?![\w-]))[\w-]++)*+
          \.(?:{_ENDINGS})(?![\w/-])
    """, is_syntax=False),
    SpanKind("version", r"""
        (?<![\w.,/-])(?!\d{1,2}\.\d{1,2}\.(?:\d{4}|\d{2})(?!\w|\.\d))  # no date
        (?!\d{1,3}(?:\.\d{3})+(?![\w.]))  # no large number
        v?\d{1,5}+(?:\.\d{1,5}){2,5}+(?:[-+](?:\w++\.)*+\w++)?(?!\w|\.\d)
    """, is_syntax=False),
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


_BY_NAME = {"select": SpanKind("select", "", Shown.BREAK), **dict(zip(_NAMES, KINDS, strict=True))}
_SIGN = re.compile(
    r"[%{$<&@`~\\/|\#=*_\[\](§+^-](?:(?<=[%{$<&@`~\\/|])|(?<=\#)[^\s\d]|(?<=\#)\d|(?<=-)-|(?<=[=*_+^])[=+^\[(]"
    r"|(?<=[=+^])[*_]|(?<=_)_|(?<=\*)\*{3}|(?<==)[A-Z]|(?<=[\[(])[=+^(]|(?<=\])[-\d*I]|(?<=§)r"
    r"|(?<=\[)(?:[\[/\-\d*I]|[\w:-]++(?:=|\.\w\w|\s[\w:-]+=)))"
)
_DOT = re.compile(rf"\.(?:(?<=\d.)\d|(?<=www.)|\.{{3}}|(?:{_ENDINGS}|{_DOMAINS})\b)")
"""One of these occurs in each protected span: most texts have none, and are searched for nothing else."""
_TAG = re.compile(r"(?P<brackets>[<\[{(]{1,2}%?)-?\s?[\#@^$~]?(?P<closes>/?)[\#@^$]?\s?(?P<name>[\w:.-]+)")
_HTML = (
    "a|abbr|b|bdi|bdo|br|cite|code|del|dfn|em|h[1-6]|hr|i|img|ins|kbd|li|mark|ol|p|pre|q|s|samp|small|span|"
    "strong|sub|sup|td|th|tr|tt|u|ul|var|wbr"
)
_ALONE = re.compile(
    rf"<(?:/|(?:{_HTML})\s*>|\d{{1,3}}+>|[^<>=/]++[=/])|\(/|\{{(?:/|[^=]++=)"
    r"|\[(?:/|[^\]=]++(?:=|(?<=/)\]))|[<\[][^\W\d_]{2,}+\.[^\W\d_]{2}"
)
"""Beginning of a tag that is one without another half, too; `[sic]` is not."""
_CONTROLS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Controls of the direction of writing."""
_BLOCK = re.compile(r"\{\{-?\s*(?:if|range|with|block|define)\s")
"""Of Go's templates, which `{{end}}` ends."""
_TRAILING = ".,;:!?"
_HEADING = re.compile(r"\s+[^\W\d_a-z]")


def find_spans(text: str, pause: Callable[[], None] = never_pause) -> tuple[Object, ...]:
    """Return the protected spans of a text, in order; they do not overlap. `pause` is called now and then."""
    if _SIGN.search(text) is None and _DOT.search(text) is None:
        return ()
    spans, uncertain = list[Object](), set[int]()
    end = 0
    has_blocks = _BLOCK.search(text) is not None
    pattern = _ALL if _SELECT.search(text) is None else in_select()
    for found in find_all(pattern, text, pause):
        span = _span(text, found, has_blocks=has_blocks)
        if span is not None:
            if _BY_NAME[found.lastgroup or ""].name == "tag" and _ALONE.match(found[0]) is None:
                uncertain.add(len(spans))
            span = _with_controls(text, span, end)
            end = span.end
            spans.append(span)
    alone = uncertain.difference(named_partners(text, spans)) if uncertain else ()
    return tuple(
        one for i, each in enumerate(spans) for one in (_within(text, each) if i in alone else (each,))
    )


def _within(text: str, tag: Object) -> Iterator[Object]:
    """Yield the spans within what looks like a tag."""
    start = tag.start + 1
    for each in find_spans(text[start : tag.end - 1]):
        yield replace(each, start=start + each.start, end=start + each.end)


def named_partners(text: str, spans: Sequence[Object]) -> dict[int, int]:
    """Return the index of the other half of each tag that has one: the same name in the same brackets."""
    halves = list[tuple[str, Hashable]]()
    for each in spans:
        tag = _TAG.match(text, each.start, each.end)
        if (
            tag is None
            or each.shown not in {Shown.COPY, Shown.TAG}
            or text[each.end - 2] == "/"
            or "</" in text[tag.end() : each.end]
        ):
            halves.append(("", None))
            continue
        name = tag["name"]
        is_end = tag["brackets"].endswith("%") and name.startswith("end")
        kind = MarkKind.CLOSE if tag["closes"] or is_end else MarkKind.OPEN
        halves.append((kind.value, (tag["brackets"], name.removeprefix("end") if is_end else name)))
    return pair_nesting(halves)


def _span(text: str, found: re.Match[str], *, has_blocks: bool) -> Object | None:
    kind = _BY_NAME[found.lastgroup or ""]
    start, end = found.span()
    if kind.name == "option":
        end = start + len(found[0].rstrip(_TRAILING))
    elif kind.name == "version" and _is_number_of_heading(text, start, end):
        return None
    elif found[0] == "|" and text[0].isupper() != text[end].isupper() and " " in text:
        return None  # in `Wählen Sie ja|nein`, no further text begins
    elif found[0].strip("{}- ") == "end" and not has_blocks:
        return Object(start, end)
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
