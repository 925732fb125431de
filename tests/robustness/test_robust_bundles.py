"""No bundle of models/ takes the lists worse than it did when its bars were written."""

from pathlib import Path

import pytest

from bench.robustness.bars import Bar, bar_of, find_bar, missed, read_bars, write_bars
from bench.robustness.inputs import TARGETS, read_inputs
from bench.robustness.judging import BEAM_SIZES, Rates, listed_pairs, rates_of, translate_and_judge
from dragoman import Pair, Translator

MODELS = Path(__file__).parents[2] / "models"
BUNDLES = sorted(path.parent for path in MODELS.glob("*/manifest.json"))
RATES = Rates(
    inputs=150, good=0.5, things=190, kept=0.7749, words=240, said=0.62, invented=0.053, loop=0.0, empty=1.0
)
BAR = Bar("m", "de", "en", 4, kept=76, said=61, invented=7, loop=1, empty=100)


@pytest.mark.parametrize("beam_size", BEAM_SIZES)
@pytest.mark.parametrize("folder", BUNDLES, ids=lambda folder: str(folder.name))
def test_a_bundle_reaches_its_bars(folder: Path, beam_size: int) -> None:
    with Translator.open(folder) as translator:
        for pair in listed_pairs(translator):
            bar = find_bar(read_bars(), folder.name, pair.source, pair.target, beam_size)
            verdicts = translate_and_judge(translator, read_inputs(pair.source), pair, beam_size)

            assert missed(bar, rates_of(verdicts)) == []


def test_whoever_brings_a_bundle_without_bars_is_told_what_to_do() -> None:
    assert find_bar([BAR], "m", "de", "en", 4) == BAR
    with pytest.raises(LookupError, match=r"n has no bars for de -> en .*models/n`.* --bars, and commit"):
        find_bar([BAR], "n", "de", "en", 4)


def test_there_is_a_bundle_to_hold_to_its_bars() -> None:
    assert "de-en" in {folder.name for folder in BUNDLES}


def test_bars_are_of_bundles_that_are_there_and_of_listed_pairs() -> None:
    bars = read_bars()

    assert {bar.bundle for bar in bars} <= {folder.name for folder in BUNDLES}
    assert all(TARGETS[bar.source] == bar.target for bar in bars)
    assert len({bar.key for bar in bars}) == len(bars)


def test_a_bar_is_a_whole_percent_below_the_one_reached() -> None:
    assert bar_of("m", "de", "en", 4, RATES) == BAR


def test_what_is_worse_than_its_bar_is_missed() -> None:
    worse = Rates(
        inputs=150,
        good=0.5,
        things=190,
        kept=0.755,
        words=240,
        said=0.61,
        invented=0.071,
        loop=0.01,
        empty=1.0,
    )

    assert missed(BAR, RATES) == []
    assert missed(BAR, worse) == ["kept 75.5 %, 76 % at least", "invented 7.1 %, 7 % at most"]


def test_new_bars_take_the_place_of_the_same_bundles_older_ones(tmp_path: Path) -> None:
    path = tmp_path / "bars.toml"
    other, older = Bar("a", "en", "de", 1, 5, 4, 3, 2, 1), Bar("m", "de", "en", 4, 1, 1, 1, 1, 1)

    write_bars([older, other], path)
    write_bars([BAR], path)

    assert read_bars(path) == [other, BAR]
    assert read_bars(tmp_path / "none.toml") == []


def test_a_bundle_is_held_to_the_pairs_that_have_a_list(tiny: Translator) -> None:
    assert listed_pairs(tiny) == [Pair("de", "en")]
