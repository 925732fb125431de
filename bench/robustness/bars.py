"""What rates a bundle must not fall below again: a small table beside the list."""

import json
import math
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.robustness.inputs import FOLDER
from bench.robustness.judging import Rates

BARS = FOLDER / "bars.toml"
SLACK_POINTS = 1
"""int8 kernels of other processors add in another order, so that a near tie may fall the other way."""
_AT_LEAST = ("kept", "said")
_AT_MOST = ("invented", "loop", "empty")
_HEAD = """\
# What bundles reached on the lists beside this file, in whole percents: `kept` and `said` at least,
# `invented`, `loop` and `empty` at most. Rounded to the worse side, and one point more: processors whose int8
# kernels add in another order decide near ties otherwise. tests/robustness holds every bundle to its bars.
# Written by `python -m bench.robustness models/NAME --bars`.
"""


@dataclass(frozen=True, slots=True)
class Bar:
    """One bundle's, for one pair and beam size; whole percents."""

    bundle: str
    source: str
    target: str
    beam_size: int
    kept: int
    said: int
    invented: int
    loop: int
    empty: int

    @property
    def key(self) -> tuple[str, str, str, int]:
        """What it is for."""
        return self.bundle, self.source, self.target, self.beam_size


def bar_of(bundle: str, source: str, target: str, beam_size: int, rates: Rates) -> Bar:
    """What was measured, rounded to its worse side, and `SLACK_POINTS` more."""
    least = {name: max(0, math.floor(_percent(rates, name)) - SLACK_POINTS) for name in _AT_LEAST}
    most = {name: min(100, math.ceil(_percent(rates, name)) + SLACK_POINTS) for name in _AT_MOST}
    return Bar(
        bundle=bundle,
        source=source,
        target=target,
        beam_size=beam_size,
        kept=least["kept"],
        said=least["said"],
        invented=most["invented"],
        loop=most["loop"],
        empty=most["empty"],
    )


def find_bar(bars: Iterable[Bar], bundle: str, source: str, target: str, beam_size: int) -> Bar:
    """The one for this.

    Raises:
        LookupError: there is none; the message says what to do.
    """
    for bar in bars:
        if bar.key == (bundle, source, target, beam_size):
            return bar
    raise LookupError(
        f"{bundle} has no bars for {source} -> {target} with beam size {beam_size}: look through what "
        f"`python -m bench.robustness models/{bundle}` prints, run it again with --bars, and commit "
        f"bench/{BARS.parent.name}/{BARS.name} with the bundle"
    )


def missed(bar: Bar, rates: Rates) -> list[str]:
    """What is worse than the bar, in words."""
    return [*_too_low(bar, rates), *_too_high(bar, rates)]


def _too_low(bar: Bar, rates: Rates) -> Iterator[str]:
    for name in _AT_LEAST:
        if _percent(rates, name) < getattr(bar, name):
            yield f"{name} {_percent(rates, name):.1f} %, {getattr(bar, name)} % at least"


def _too_high(bar: Bar, rates: Rates) -> Iterator[str]:
    for name in _AT_MOST:
        if _percent(rates, name) > getattr(bar, name):
            yield f"{name} {_percent(rates, name):.1f} %, {getattr(bar, name)} % at most"


def _percent(rates: Rates, name: str) -> float:
    rate = getattr(rates, name)
    if rate is None:
        raise ValueError(f"nothing on the list asks for {name}")
    return round(100 * float(rate), 2)


def read_bars(path: Path = BARS) -> list[Bar]:
    """All of them; none if there is no file.

    Raises:
        TypeError: a bar lacks a field, or has one too many.
    """
    if not path.is_file():
        return []
    return [Bar(**fields) for fields in tomllib.loads(path.read_text(encoding="utf8")).get("bar", [])]


def write_bars(bars: Iterable[Bar], path: Path = BARS) -> None:
    """New ones take the place of older ones for the same."""
    by_key = {bar.key: bar for bar in [*read_bars(path), *bars]}
    sections = [_section(bar) for _, bar in sorted(by_key.items())]
    path.write_text("\n".join([_HEAD, *sections]), encoding="utf8")


def _section(bar: Bar) -> str:
    values = {name: getattr(bar, name) for name in Bar.__slots__}
    lines = [f"{name} = {json.dumps(value)}" for name, value in values.items()]
    return "\n".join(["[[bar]]", *lines, ""])
