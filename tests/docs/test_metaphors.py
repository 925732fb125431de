"""Names in the code are words of the field: none of the metaphors that it once had."""

import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("dragoman", "service", "export", "training", "bench")
BANNED = frozenset(
    {
        "anew",
        "asked",
        "desk",
        "desks",
        "door",
        "doors",
        "errand",
        "errands",
        "heed",
        "journey",
        "journeys",
        "lacking",
        "mend",
        "mended",
        "premises",
        "recall",
        "recalled",
        "reckon",
        "refusal",
        "refusals",
        "refuse",
        "refuses",
        "shelf",
        "shelves",
        "telling",
        "tells",
        "ticket",
        "tickets",
        "told",
        "wish",
        "wishes",
    }
)
"""docs/reference/glossary.md has the words to use instead."""


def words_of(name: str) -> set[str]:
    """The words of a name in any case style, in lower case."""
    return set(re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower().split("_"))


def test_no_name_is_a_metaphor() -> None:
    found = {
        f"{path.relative_to(ROOT)}: {token.string}"
        for package in PACKAGES
        for path in sorted((ROOT / package).rglob("*.py"))
        for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf8")).readline)
        if token.type == tokenize.NAME and words_of(token.string) & BANNED
    }

    assert sorted(found) == []
