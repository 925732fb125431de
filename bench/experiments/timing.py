"""Milliseconds per sentence of several bundles, which take turns so that drift affects all of them."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from bench.experiments.commands import StopRequest
from bench.rounds import Spread, spread, turn
from bench.throughput import Setting, run_once
from dragoman import Translator

BATCHES = (1, 32)
SENTENCES = 256
ROUNDS = 7
SETTINGS = tuple(Setting(batch=batch, beam_size=1, callers=1) for batch in BATCHES)


@dataclass(frozen=True, slots=True)
class Timing:
    """Time of one arm's bundle, greedy, with one replica of one thread."""

    arm: str
    batch: int
    ms_per_sentence: Spread


def time_bundles(
    bundles: Mapping[str, Path], lines: Sequence[str], rounds: int, stop: StopRequest
) -> list[Timing]:
    """Time all bundles on the same lines in every round; each round begins with another arm.

    Args:
        bundles: bundles by the names of their arms.
        lines: sentences to translate.
        rounds: number of rounds, of which the spread is returned.
        stop: stop request, checked before each bundle's turn.

    Raises:
        Stopped: a signal arrived.
    """
    names, lines = list(bundles), list(lines)
    found: dict[tuple[str, Setting], list[float]] = {(name, each): [] for name in names for each in SETTINGS}
    with ExitStack() as opened:
        translators = {
            name: opened.enter_context(Translator.open(path, replicas=1)) for name, path in bundles.items()
        }
        for translator in translators.values():
            run_once(translator, lines[:32], SETTINGS[-1])
        for number in tqdm(range(rounds), desc="time", unit="round", disable=None):
            for name in turn(names, number):
                stop.check()
                for setting in SETTINGS:
                    seconds, _ = run_once(translators[name], lines, setting)
                    found[name, setting].append(1e3 * seconds / len(lines))
    return [
        Timing(name, setting.batch, spread([round(value, 3) for value in values]))
        for (name, setting), values in found.items()
    ]
