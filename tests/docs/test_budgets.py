"""No folder grows unless another one shrinks, and all shrink towards their goals."""

from tests.docs.budgets import FILE, GOALS, code_lines, count, folders_of, git, parse, render, total
from tests.paths import ROOT

TEXT = FILE.read_text(encoding="utf8")
BUDGETS = parse(TEXT)
SLACK, SLACK_LINES = 0.01, 10
"""How far below its number a folder may be; a larger saving is written down."""


def test_each_folder_has_at_most_its_number_and_not_much_less() -> None:
    counts = count()
    numbers = {
        (kind, folder): pair[0] for kind, folders in BUDGETS.items() for folder, pair in folders.items()
    }
    found = {(kind, folder): n for kind, folders in counts.items() for folder, n in folders.items()}

    off = {
        f"{kind} of {folder}": (found.get((kind, folder)), numbers.get((kind, folder)))
        for kind, folder in numbers.keys() | found.keys()
        if not 0
        <= numbers.get((kind, folder), 0) - found.get((kind, folder), 0)
        <= SLACK_LINES + SLACK * numbers.get((kind, folder), 0)
    }

    assert off == {}, "lower the number of another folder by as many: python -m tests.docs.budgets"


def test_the_numbers_together_are_at_most_the_total() -> None:
    """So one is raised only where another is lowered, also in a plain tree without commits."""
    assert sum(number for folders in BUDGETS.values() for number, _ in folders.values()) <= total(TEXT)


def test_the_total_is_not_above_that_of_a_commit_before() -> None:
    """A plain tree has no commits to compare with; whoever raises its total edits the line by hand."""
    name = FILE.relative_to(ROOT)
    before = [git("show", f"{commit}:{name}") for commit in ("HEAD", "HEAD~1")]

    assert [total(text) for text in before if text and total(text) < total(TEXT)] == []


def test_goals_are_not_above_numbers_and_add_up_to_those_of_their_groups() -> None:
    above = [
        folder for folders in BUDGETS.values() for folder, (number, goal) in folders.items() if goal > number
    ]
    sums = [
        sum(BUDGETS[kind][folder][1] for folder in folders_of(BUDGETS[kind], packages))
        for kind, packages, _ in GOALS
    ]

    assert above == []
    assert [found for found, (_, _, goal) in zip(sums, GOALS, strict=True) if found > goal] == []


def test_goals_stay_when_numbers_are_written_unless_they_are_reached() -> None:
    before = {kind: {packages[0]: [goal + 10, goal]} for kind, packages, goal in GOALS}
    counts = {
        kind: {folder: goal + change for folder, (_, goal) in before[kind].items()}
        for kind, change in (("files", 5), ("python", -5), ("tables", 0))
    }

    written = parse(render(counts, before))

    assert written["files"]["all"] == [1405, 1400]
    assert written["python"]["bench"] == [3995, 3995]
    assert total(render(counts, before)) == 1405 + 3995 + 1150


def test_code_lines_have_more_than_brackets_comments_and_texts() -> None:
    source = (
        '"""Say it.\n\nAt length.\n"""\n\nX = [\n    1,  # one\n    # two\n]\n\n\n'
        'def f() -> str:\n    """Do it."""\n    return "a" "b"\n'
    )

    assert code_lines(source) == {6, 7, 12, 14}
