"""The language that markup says its text is in."""

import re

_TAG = re.compile(
    r"<!--.*?-->|<!\[CDATA\[.*?\]\]>|<\?.*?\?>|<[^<>\"'!?/\s](?:[^<>\"']|\"[^\"]*\"|'[^']*')*+>", re.DOTALL
)
_LANGUAGE = re.compile(r"\"[^\"]*\"|'[^']*'|(\s(?:xml:)?lang\s*=\s*)([\"'])([^\"'<>&]*)\2", re.IGNORECASE)


def is_language(code: str, wanted: str) -> bool:
    """Whether a language is the one wanted, or that of a region: `de_AT` is a kind of `de`."""
    found, requested = code.strip().lower().replace("_", "-"), wanted.lower().replace("_", "-")
    return found == requested or found.startswith(f"{requested}-")


def with_language(markup: str, source: str, target: str) -> str:
    """Markup whose elements say another language (`lang`, `xml:lang`) where they said that of the source.

    Args:
        markup: HTML or XML; what is no start tag stays as it is.
        source: language that its text was in.
        target: language that it is in now.
    """

    def replaced(found: re.Match[str]) -> str:
        if found[1] is None or not is_language(found[3], source):
            return found[0]
        return f"{found[1]}{found[2]}{target}{found[2]}"

    def tagged(found: re.Match[str]) -> str:
        return found[0] if found[0][1] in "!?" else _LANGUAGE.sub(replaced, found[0])

    return _TAG.sub(tagged, markup)
