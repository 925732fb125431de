"""Verdicts and rates, counted by hand."""

from bench.robustness.inputs import Input, RequiredItem, Rule
from bench.robustness.verdicts import Rates, Verdict, by_kind, judge, rates_of
from dragoman import Pair

PAIR = Pair("de", "en")
KEEP = RequiredItem(Rule.MARK, ("{a}",))
SAY = RequiredItem(Rule.SAYS, ("yes",))


def verdict(output: str, kind: str = "k", wanted: tuple[RequiredItem, ...] = (KEEP, SAY)) -> Verdict:
    given = Input("x", kind, "Ja {a}", is_ordered=False, wanted=wanted, good="")
    return judge(given, output, PAIR)


def test_rates_are_shares_of_things_words_and_inputs() -> None:
    verdicts = [
        verdict("yes {a}"),
        verdict("yes"),
        verdict("yes yes yes {a}"),
        verdict("...", wanted=(KEEP,)),
    ]

    assert rates_of(verdicts) == Rates(
        inputs=4, good=0.25, things=4, kept=0.5, words=3, said=1.0, invented=0.0, loop=0.25, empty=0.25
    )


def test_without_requests_there_is_no_rate() -> None:
    rates = rates_of([verdict("yes", wanted=())])

    assert (rates.kept, rates.said, rates.good) == (None, None, 1.0)


def test_kinds_are_rated_apart_in_the_lists_order() -> None:
    rates = by_kind([verdict("yes", "b"), verdict("{a}", "a"), verdict("no", "b")])

    assert list(rates) == ["b", "a"]
    assert [(one.inputs, one.kept, one.said) for one in rates.values()] == [(2, 0.0, 0.5), (1, 1.0, 0.0)]


def test_an_output_cut_by_the_length_limit_counts_as_a_loop() -> None:
    given = Input("x", "k", "Ja", is_ordered=False, wanted=(), good="")

    assert judge(given, "yes", PAIR, is_cut=True).looped == "cut by the length limit"
    assert judge(given, "yes", PAIR).looped is None
