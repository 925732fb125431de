"""Language tags in files."""

import re

from service.formats.entries import FileFormatError

_TAG = re.compile(
    r"<!--.*?(?:-->|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<\?.*?(?:\?>|\Z)"
    r"|<[^<>\"'!?/\s](?:[^<>\"']|\"[^\"]*\"|'[^']*')*+>",
    re.DOTALL,
)
_LANGUAGE = re.compile(r"\"[^\"]*\"|'[^']*'|(\s(?:xml:)?lang\s*=\s*)([\"'])([^\"'<>&]*)\2", re.IGNORECASE)


def matches_language(code: str, wanted: str) -> bool:
    """Return whether a language is the wanted one or a regional variant of it: `de_AT` counts as `de`."""
    requested = _subtags(wanted)
    return _subtags(code)[: len(requested)] == requested


def check_target(named: str, target: str) -> None:
    """Check that a file with translations names the target language, a variant of it, or none.

    Raises:
        FileFormatError: it names another language.
    """
    first, second = _subtags(named)[0], _subtags(target)[0]
    if first and first != second:
        problem = f"its translations are in {named.strip()[:40]!r}, but the target language is {target}"
        raise FileFormatError(f"{problem}; choose that language, or the file of {target}")


def is_variant(one: str, other: str) -> bool:
    """Return whether two codes are equal, or one is the other with more subtags, as `en` and `en-GB`."""
    return matches_language(one, other) or matches_language(other, one)


def _subtags(code: str) -> list[str]:
    return code.strip().lower().replace("_", "-").split("-")


def renamed_language(language: str, target: str) -> str:
    """Return the code of the target language as a file writes codes: with `_` if its own has one."""
    return target.replace("-", "_") if "_" in language else target


def replace_language_tags(markup: str, source: str, target: str) -> str:
    """Return markup in which language tags (`lang`, `xml:lang`) of the source name the target instead.

    Args:
        markup: HTML or XML; everything but start tags stays as it is.
        source: previous language of the text.
        target: present language of the text.
    """

    def replaced(found: re.Match[str]) -> str:
        if found[1] is None or not matches_language(found[3], source):
            return found[0]
        return f"{found[1]}{found[2]}{target}{found[2]}"

    def tagged(found: re.Match[str]) -> str:
        return found[0] if found[0][1] in "!?" else _LANGUAGE.sub(replaced, found[0])

    return _TAG.sub(tagged, markup)
