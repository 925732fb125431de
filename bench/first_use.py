"""Print memory of a fresh process that opens bundles: `python -m bench.first_use NUM_REPLICAS BUNDLE...`."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from bench.processes import memory, run_json
from dragoman import Translator


def measure_first_use(bundles: Sequence[Path], replicas: int) -> dict[str, int]:
    """Open bundles in a new process and measure it.

    Returns:
        `before_bytes`: resident memory of Python and its libraries; `loaded_bytes`: with all bundles open.
    """
    found: dict[str, int] = run_json("bench.first_use", replicas, *bundles)
    return found


def open_bundles(bundles: Sequence[Path], replicas: int) -> dict[str, int]:
    """Open bundles in this process and measure it."""
    before_bytes = memory().resident_bytes
    translators = [Translator.open(bundle, replicas=replicas) for bundle in bundles]
    loaded_bytes = memory().resident_bytes
    for translator in translators:
        translator.close()
    return {"before_bytes": before_bytes, "loaded_bytes": loaded_bytes}


if __name__ == "__main__":
    print(json.dumps(open_bundles([*map(Path, sys.argv[2:])], int(sys.argv[1]))))
