"""Try targets with inputs drawn at random, in turn, until the time is over; what breaks a rule goes to files.

README.md beside this file says how to make a test of a find.
"""

import argparse
import logging
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import HypothesisWarning

from tests.fuzz.all_targets import ALL
from tests.fuzz.target import Target, World, open_world

PROJECT = Path(__file__).parents[2]
FINDS = PROJECT / "runs" / "fuzz"
EXAMPLES_PER_TURN = 200
MAX_INPUT_S = 10.0
"""What takes longer for one small input is a find, too."""
SHOWN_FRAMES = 12


class TooSlowError(Exception):
    """One input took more than `MAX_INPUT_S`."""


@dataclass(slots=True)
class Hunt:
    """What was tried and found so far."""

    finds: Path
    num_inputs: dict[str, int] = field(default_factory=dict)
    """By target."""
    known: dict[tuple[str, ...], Path] = field(default_factory=dict)
    """The smallest input of each find, by its target, error and place."""

    def try_target(self, target: Target, world: World) -> None:
        """Draw `EXAMPLES_PER_TURN` inputs; of a new find, look for a smaller input and write it."""
        failed: tuple[str, ...] | None = None
        smallest: tuple[bytes, str] | None = None

        def check(data: bytes) -> None:
            nonlocal failed, smallest
            self.num_inputs[target.name] = self.num_inputs.get(target.name, 0) + 1
            try:
                with time_limit(MAX_INPUT_S):
                    target.check(world, data)
            except Exception as error:
                signature = (target.name, *signature_of(error))
                if signature in self.known or failed not in {None, signature}:
                    return  # one find at a time, and none twice
                failed, smallest = signature, (data, traceback.format_exc(limit=-SHOWN_FRAMES))
                raise

        run = settings(
            max_examples=EXAMPLES_PER_TURN,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )(given(target.inputs)(check))
        try:
            run()
        except Exception as error:
            if failed is None or smallest is None:
                raise
            del error
            self.known[failed] = self.write(target, *smallest)

    def write(self, target: Target, data: bytes, told: str) -> Path:
        """The input, and beside it what it led to."""
        path = self.finds / target.name / sha256(data).hexdigest()[:12]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        path.with_suffix(".txt").write_text(f"{data[:2000]!r}\n\n{told}", encoding="utf8")
        print(f"FOUND {path}\n{told}", flush=True)
        return path


def signature_of(error: BaseException) -> tuple[str, ...]:
    """The kind of an error, and the last lines of ours that it went through."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [f"{frame.filename}:{frame.lineno}" for frame in frames if str(PROJECT) in frame.filename]
    return type(error).__name__, *ours[-2:]


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raise TooSlowError in what takes longer."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TooSlowError(f"it took more than {seconds:g} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def hunt(targets: Sequence[Target], seconds: float, finds: Path, now: Callable[[], float]) -> Hunt:
    """Go round the targets until the time is over."""
    found = Hunt(finds)
    until = now() + seconds
    with TemporaryDirectory() as folder, open_world(Path(folder)) as world:
        while targets:
            for target in targets:
                if now() >= until:
                    return found
                found.try_target(target, world)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--target", action="append", help="part of a name; may be given again; else all")
    parser.add_argument("--finds", type=Path, default=FINDS)
    parser.add_argument("--replay", type=Path, help="try this input with the one --target, and nothing else")
    arguments = parser.parse_args()
    wanted = arguments.target or [""]
    targets = [target for name, target in ALL.items() if any(part in name for part in wanted)]
    if not targets:
        parser.error(f"no such target; there are {', '.join(ALL)}")
    warnings.simplefilter("ignore", HypothesisWarning)  # large inputs are written to files, not shown
    logging.disable(logging.WARNING)  # a library tells of every malformed form
    if arguments.replay:
        with TemporaryDirectory() as folder, open_world(Path(folder)) as world:
            ALL[wanted[0]].check(world, arguments.replay.read_bytes())
        return 0
    found = hunt(targets, arguments.seconds, arguments.finds, time.monotonic)
    total = sum(found.num_inputs.values())
    print(f"{total} inputs to {len(found.num_inputs)} of {len(targets)} targets; {len(found.known)} finds")
    for path in found.known.values():
        print(f"  {path}")
    return 1 if found.known else 0


if __name__ == "__main__":
    sys.exit(main())
