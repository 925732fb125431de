"""Attributes of a start tag, in the source form of well-formed XML."""

import re
from collections.abc import Set as AbstractSet

_ATTRIBUTE = re.compile(r"""(?<!\s)\s++([^\s=/>"']++)\s*+=\s*+(?:"[^"]*+"|'[^']*+')""")


def without_attributes(tag: str, names: AbstractSet[str]) -> str:
    """Return a start tag without the attributes of these local names."""
    return _ATTRIBUTE.sub(lambda found: "" if found[1].rpartition(":")[2] in names else found[0], tag)
