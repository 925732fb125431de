"""Resident memory of a fresh process that has loaded bundles: `python -m bench.card_memory BUNDLE...`."""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.peers.protocol import memory
from dragoman import Translator


@dataclass(frozen=True, slots=True)
class ResidentMemory:
    """Resident memory of Python and its libraries before loading, and with all bundles before translating."""

    before_bytes: int
    loaded_bytes: int


def measure_resident(bundles: Sequence[Path], replicas: int) -> ResidentMemory:
    """Load bundles in a new process and measure it."""
    command = [sys.executable, "-m", "bench.card_memory", *map(str, bundles), "--replicas", str(replicas)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)  # noqa: S603 -- our own module
    return ResidentMemory(**json.loads(done.stdout))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.card_memory", description=__doc__)
    parser.add_argument("bundles", type=Path, nargs="+", metavar="BUNDLE")
    parser.add_argument("--replicas", type=int, default=2)
    arguments = parser.parse_args()
    before: int = memory()["resident_bytes"]
    translators = [Translator.open(path, replicas=arguments.replicas) for path in arguments.bundles]
    found = ResidentMemory(before, memory()["resident_bytes"])
    for translator in translators:
        translator.close()
    sys.stdout.write(json.dumps(asdict(found)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
