"""No folder grows unnoticed: whoever adds a feature takes code away elsewhere, or says why not."""

import tokenize
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BUDGETS: Mapping[str, int] = {
    "bench": 4145,
    "dragoman": 11746,
    "export": 9193,
    "requirements": 176,
    "service": 1190,
    "service/accounts": 785,
    "service/api": 3960,
    "service/batch": 1251,
    "service/cli": 1454,
    "service/cluster": 434,
    "service/formats": 6417,
    "service/glossaries": 505,
    "service/http": 1793,
    "service/jobs": 2155,
    "service/memories": 508,
    "service/page": 58,
    "service/schema": 204,
    "service/telemetry": 505,
    "service/text": 3932,
    "service/translation": 938,
    "tests": 42253,
    "training": 4624,
}
"""Maximum number of code lines, by folder; a folder below another counts for itself alone."""
UNCOUNTED = frozenset("()[]{},:")
LAYOUT = frozenset(
    {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
        tokenize.STRING,
    }
)
FORMATTED_START, FORMATTED_END = (getattr(tokenize, f"FSTRING_{end}", None) for end in ("START", "END"))


def code_lines(source: str) -> set[int]:
    """Return the lines that have more than brackets, comments and texts, much as pygount counts them."""
    counted: set[int] = set()
    formatted = 0
    for token in tokenize.generate_tokens(iter(source.splitlines(keepends=True)).__next__):
        formatted += (token.type == FORMATTED_START) - (token.type == FORMATTED_END)
        if token.type not in LAYOUT | {FORMATTED_END} and not formatted and token.string not in UNCOUNTED:
            counted.add(token.start[0])
    return counted


def files_of(folder: str) -> Iterator[Path]:
    """Yield the Python files below a folder, but for those in folders with a budget of their own."""
    others = [ROOT / other for other in BUDGETS if other.startswith(f"{folder}/")]
    for path in sorted((ROOT / folder).rglob("*.py")):
        if not any(path.is_relative_to(other) for other in others):
            yield path


@pytest.mark.parametrize("folder", BUDGETS)
def test_a_folder_has_at_most_the_code_lines_of_its_budget(folder: str) -> None:
    found = sum(len(code_lines(path.read_text(encoding="utf-8"))) for path in files_of(folder))

    assert found <= BUDGETS[folder], (
        f"{folder} has {found} code lines, {found - BUDGETS[folder]} more than its budget: lower the number "
        "of another folder by as many, or raise this one and give the reason in the commit"
    )


def test_every_package_has_a_budget() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}

    assert packages <= {folder.partition("/")[0] for folder in BUDGETS}


def test_code_lines_have_more_than_brackets_comments_and_texts() -> None:
    source = (
        '"""Say it.\n\nAt length.\n"""\n\nX = [\n    1,  # one\n    # two\n]\n\n\n'
        'def f() -> str:\n    """Do it."""\n    return "a" "b"\n'
    )

    assert code_lines(source) == {6, 7, 12, 14}
