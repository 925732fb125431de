"""Memory and time of a fresh process that opens bundles, and translates one sentence with each, as JSON.

`python -m bench.first_use NUM_REPLICAS BUNDLE...`
"""

import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from bench.processes import memory, run_json
from dragoman import DecodingOptions, Translator
from dragoman.types import Pair

PAIR = Pair("de", "en")
SENTENCE = "Das Wetter ist heute schön, und wir gehen in den Park."
OPTIONS = DecodingOptions(beam_size=4, min_length=20, max_length=20)


@dataclass(frozen=True, slots=True)
class FirstUse:
    """Figures of a process from its start to the first translations."""

    before_bytes: int
    """Resident memory of Python and its libraries."""
    loaded_bytes: int
    """Resident memory with all bundles open."""
    translated_bytes: int
    """Peak memory after a sentence with each bundle that translates German to English."""
    open_s: float
    first_s: float


def measure_first_use(bundles: Sequence[Path], replicas: int) -> FirstUse:
    """Open bundles in a new process and measure it."""
    return FirstUse(**run_json("bench.first_use", replicas, *bundles))


def open_and_translate(bundles: Sequence[Path], replicas: int) -> FirstUse:
    """Open bundles in this process and measure it."""
    before, began_s = memory(), time.perf_counter()
    translators = [Translator.open(bundle, replicas=replicas) for bundle in bundles]
    loaded, opened_s = memory(), time.perf_counter()
    for translator in translators:
        if PAIR in translator.manifest.languages.pairs():
            translator.translate(SENTENCE, OPTIONS, pair=PAIR)
    first_s, peak_bytes = time.perf_counter() - opened_s, memory().peak_bytes
    for translator in translators:
        translator.close()
    return FirstUse(before.resident_bytes, loaded.resident_bytes, peak_bytes, opened_s - began_s, first_s)


if __name__ == "__main__":
    print(json.dumps(asdict(open_and_translate([*map(Path, sys.argv[2:])], int(sys.argv[1])))))
