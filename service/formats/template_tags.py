"""Tags of template languages in HTML and Markdown: Jinja, Liquid, Twig, Handlebars, Go, Hugo, ERB, EJS, PHP.

Tags that control what is shown part texts; expressions act like words; comments and code stay whole.
"""

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

from service.text.tokens import TokenKind

_TAG = re.compile(
    r"""
      (?P<comment>\{\#(?![.\w:-]+\})(?:[^#{]|\#(?!\})|\{(?!\#))*+\#\}|\{\{!--(?:[^-]|-(?!-\}\}))*+--\}\}|\{\{![^{}]*+\}\}
        |<%--(?:[^-]|-(?!-%>))*+--%>|<%\#(?:[^%]|%(?!>))*+%>)
    | \{\{(?P<shortcode>[<%])(?P<in_shortcode>(?:[^{}%>]|[%>](?!\}\})|[{}](?![{}]))*+)[%>]\}\}
    | \{%(?P<block>(?:[^%{]|%(?!\})|\{(?!%))*+)%\}
    | \{\{\{?(?P<expression>(?:[^{}]|\}(?!\})|\{(?!\{))*+)\}\}\}?+
    | <%(?P<code>(?:[^%<]|%(?!>)|<(?!%))*+)%>
    | <\?(?P<php>(?!xml)(?:[^?<]|\?(?!>)|<(?!\?))*+)\?>
    | </?\#(?P<directive>[a-z]++)[^<>]*+>
    """,
    re.VERBOSE,
)
_NAME = re.compile(r"[-+~\s]*+(/?)\s*+([\w-]+)")
_CONTROL = re.compile(
    r"[-+~_\s]*(?:[#/^]|(?:else|elsif|elseif|end|if|unless|range|with|block|define|for|foreach|while|do|try)\b)"
)
_OUTPUT = re.compile(r"[-_]?=|-(?![^%]*-\Z)\s*(?!end|if|else|for|\})|(?:php)?\s*+(?:echo|print)\b")
_WHOLE = frozenset(["comment", "raw", "verbatim", "highlight"])
"""Names of blocks whose content stays."""
_END = re.compile(
    r"\{%[-+~]?\s*end(comment|raw|verbatim|highlight)\s*[-+~]?%\}|\{\{[<%]\s*/(comment|raw|highlight)\s*[>%]\}\}"
)
_CLOSING = re.compile(r"\{\{[<%]\s*/\s*([\w-]+)")


@dataclass(frozen=True, slots=True)
class TemplateTag:
    """A tag, or a block with its content, that is not translated."""

    start: int
    end: int
    kind: TokenKind
    """BREAK, WORD or POINT."""


def find_template_tags(text: str) -> Iterator[TemplateTag]:
    """Yield the tags of a text, in order."""
    if not any(sign in text for sign in ("{{", "{%", "{#", "<%", "<?", "<#", "</#")):
        return
    ends: defaultdict[str, list[int]] = defaultdict(list)
    for last in _END.finditer(text):
        ends[last[1] or last[2]].append(last.end())
    paired = frozenset(_CLOSING.findall(text))
    at = 0
    while found := _TAG.search(text, at):
        kind, name = _kind(found, paired)
        at = found.end()
        if name in _WHOLE and (after := ends[name][bisect_left(ends[name], at) :][:1]):
            at = after[0]
        yield TemplateTag(found.start(), at, kind)


def _kind(found: re.Match[str], paired: frozenset[str]) -> tuple[TokenKind, str]:
    """Return the role of a tag, and the name of a block or a shortcode that opens."""
    if found["comment"]:
        return TokenKind.POINT, ""
    inner = found["in_shortcode"] if found["shortcode"] else found["block"]
    if inner is not None:
        named = _NAME.match(inner)
        name = named[2] if named else ""
        is_control = not found["shortcode"] or name in paired
        return TokenKind.BREAK if is_control else TokenKind.WORD, "" if named and named[1] else name
    if found["expression"] is not None:
        return TokenKind.BREAK if _CONTROL.match(found["expression"]) else TokenKind.WORD, ""
    code = found["code"] or found["php"] or ""
    return TokenKind.WORD if _OUTPUT.match(code) else TokenKind.BREAK, ""
