"""Tables of docs/reports/robustness.md show what was measured."""

from bench.robustness.page import failures_table, rates_table

RATES = {
    "inputs": 2,
    "good": 0.5,
    "things": 0,
    "kept": None,
    "words": 3,
    "said": 0.667,
    "invented": 0.0,
    "loop": 1.0,
    "empty": 0.0,
}
FAILURE = {
    "id": "x",
    "kind": "tag",
    "input": "a|<b>\t" + 100 * "c",
    "output": "d\n*e*",
    "lost": ["mark:<b>"],
    "unsaid": ["says:^e$ = f"],
    "invented": None,
    "loop": "'d', 3 times",
    "empty": False,
}


def test_a_line_has_all_beam_sizes() -> None:
    results = [{"beam_size": size, "all": RATES, "kinds": {"tag": RATES}} for size in (1, 4)]

    *_, last = rates_table({"results": results}).splitlines()

    assert last == "| tag | 2 | 50 · 50 | 0 | - · - | 3 | 67 · 67 | 0 · 0 | 100 · 100 | 0 · 0 |"


def test_the_first_failure_of_a_kind_is_shown_as_it_is() -> None:
    result = {"failures": [FAILURE, {**FAILURE, "output": "second"}]}

    *_, last = failures_table({"results": [result]}).splitlines()
    cells = [cell.strip() for cell in last.strip("| ").split(" | ")]

    assert cells[0] == "tag"
    assert cells[1].startswith(r"a\|\<b\>⇥ccc")
    assert cells[1].endswith("c…")
    assert cells[2] == r"d⏎\*e\*"
    assert cells[3] == r"lost mark:\<b\>; not said ^e$ = f; loop, 'd', 3 times"
