"""Thresholds that a bundle's rates must keep, in a table next to the lists."""

import json
import math
import tomllib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.robustness.inputs import FOLDER
from bench.robustness.judging import Rates

BARS = FOLDER / "bars.toml"
SLACK_POINTS = 1
"""Tolerance in percentage points: int8 kernels of other processors may decide near ties differently."""
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
    """Thresholds of one bundle for one pair and beam size, in whole percents."""

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
        """Bundle, pair and beam size of the thresholds."""
        return self.bundle, self.source, self.target, self.beam_size


def bar_of(bundle: str, source: str, target: str, beam_size: int, rates: Rates) -> Bar:
    """Make thresholds from measured rates, rounded to the worse side plus `SLACK_POINTS`."""
    least = {name: max(0, math.floor(_percent(rates, name)) - SLACK_POINTS) for name in _AT_LEAST}
    most = {name: min(100, math.ceil(_percent(rates, name)) + SLACK_POINTS) for name in _AT_MOST}
    return Bar(bundle, source, target, beam_size, **least, **most)


def find_bar(bars: Iterable[Bar], bundle: str, source: str, target: str, beam_size: int) -> Bar:
    """Find the thresholds of a bundle, pair and beam size.

    Raises:
        LookupError: there are none; the message says what to do.
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
    """Return a description of each rate that misses its threshold."""
    found = []
    for name in (*_AT_LEAST, *_AT_MOST):
        percent, limit = _percent(rates, name), getattr(bar, name)
        if percent < limit and name in _AT_LEAST:
            found.append(f"{name} {percent:.1f} %, {limit} % at least")
        elif percent > limit and name in _AT_MOST:
            found.append(f"{name} {percent:.1f} %, {limit} % at most")
    return found


def _percent(rates: Rates, name: str) -> float:
    rate = getattr(rates, name)
    if rate is None:
        raise ValueError(f"nothing on the list asks for {name}")
    return round(100 * float(rate), 2)


def read_bars(path: Path = BARS) -> list[Bar]:
    """Read all thresholds; return none if there is no file.

    Raises:
        TypeError: an entry has a missing or unknown field.
    """
    if not path.is_file():
        return []
    return [Bar(**fields) for fields in tomllib.loads(path.read_text(encoding="utf8")).get("bar", [])]


def write_bars(bars: Iterable[Bar], path: Path = BARS) -> None:
    """Add thresholds to the file; they replace older ones with the same key."""
    by_key = {bar.key: bar for bar in [*read_bars(path), *bars]}
    sections = [_section(bar) for _, bar in sorted(by_key.items())]
    path.write_text("\n".join([_HEAD, *sections]), encoding="utf8")


def _section(bar: Bar) -> str:
    lines = [f"{name} = {json.dumps(value)}" for name, value in asdict(bar).items()]
    return "\n".join(["[[bar]]", *lines, ""])
