"""Names in the code: words of the field, and one class for a name."""

import ast
import re
from collections import defaultdict

from tests.docs.budgets import without_texts
from tests.paths import ROOT

PRODUCT = ("dragoman", "service", "export", "training")
PACKAGES = (*PRODUCT, "bench")
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
        f"{path.relative_to(ROOT)}: {name}"
        for package in (*PACKAGES, "tests")
        for path in sorted((ROOT / package).rglob("*.py"))
        for name in set(re.findall(r"\w+", without_texts(path.read_text(encoding="utf8"))))
        if words_of(name) & BANNED
    }

    assert sorted(found) == []


def test_no_two_public_classes_share_a_name() -> None:
    """A name that two modules give to different things says neither."""
    modules: dict[str, list[str]] = defaultdict(list)
    for package in PRODUCT:
        for path in sorted((ROOT / package).rglob("*.py")):
            for node in ast.parse(path.read_text(encoding="utf8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    modules[node.name].append(str(path.relative_to(ROOT)))

    assert {name: paths for name, paths in modules.items() if len(paths) > 1} == {}
