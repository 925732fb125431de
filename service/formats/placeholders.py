"""Placeholders in the texts of programs, which a translation must keep."""

import re
from collections.abc import Iterator

from service.formats.inline_runs import Item, Kind

_CONVERSION = r"(?:\*|\d+)?+(?:\.(?:\*|\d+))?+(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcrspn@]"
PLACEHOLDER = re.compile(
    rf"""
      (?<!\d)%(?:\(\w+\)|\d+\$)?+[-+0\#']*+{_CONVERSION}
    | %(?:\(\w+\)|\d+\$)?+[-+\ 0\#']*+{_CONVERSION}(?![^\W\d_])
    | %\(\w+\)                        # of Python, before a word
    | %[L]?\d{{1,2}} | %n             # of Qt
    | %%
    | \{{\{{[^{{}}]*\}}\}} | \{{%[^{{}}%]*%\}}   # of templates
    | [\#%]\{{\w+(?:\.\w+)*\}}        # of Ruby
    | \$\{{[\w.:-]+\}} | \$\(\w+\)    # of shells and JavaScript
    | \{{[\w.\[\]]*(?:![rsa])?(?::[^{{}}\s]*)?\}}  # of Python, C# and Java
    | </?[A-Za-z][^<>]*>              # tags
    | &(?:[A-Za-z]+|\#\d+|\#x[0-9A-Fa-f]+);
    """,
    re.VERBOSE,
)
"""Placeholders of C, Python, Qt, Ruby, JavaScript, C#, Java and templates; tags and references of HTML.

A percent sign and a letter are no placeholder if the letter begins a word: "100% sure".
"""


def split_placeholders(text: str) -> Iterator[Item]:
    """Yield a text with its placeholders as items that stay as they are."""
    at = 0
    for found in PLACEHOLDER.finditer(text):
        if at < found.start():
            yield Item(Kind.TEXT, text[at : found.start()])
        is_tag = found[0].startswith("<")
        yield Item(Kind.POINT if is_tag else Kind.WORD, raw=found[0], note=_half_note(found[0]))
        at = found.end()
    if at < len(text):
        yield Item(Kind.TEXT, text[at:])


def _half_note(raw: str) -> str | None:
    """Return a note that pairs start tags and end tags by name; None for anything else."""
    tag = re.match(r"<(/?)([A-Za-z][\w:-]*)", raw)
    if tag is None or raw.endswith("/>"):
        return None
    return f"{'close' if tag[1] else 'open'}:{tag[2]}"
