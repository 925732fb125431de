"""Memory and time of a fresh process that opens bundles, and translates one sentence with each, as JSON.

`python -m bench.first_use NUM_REPLICAS BUNDLE...`
"""

import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.processes import memory, run_json
from dragoman import DecodingOptions, Translator
from dragoman.types import Pair

PAIR = Pair("de", "en")
SENTENCE = "Das Wetter ist heute schön, und wir gehen in den Park."
OPTIONS = DecodingOptions(beam_size=4, min_length=20, max_length=20)


def measure_first_use(bundles: Sequence[Path], replicas: int) -> dict[str, Any]:
    """Open bundles in a new process and measure it.

    Returns:
        `before_bytes`: resident memory of Python and its libraries; `loaded_bytes`: with all bundles open;
        `translated_bytes`: peak memory after a sentence with each bundle that translates German to English;
        `open_s` and `first_s`: seconds to open the bundles, and of these sentences.
    """
    found: dict[str, Any] = run_json("bench.first_use", replicas, *bundles)
    return found


def open_and_translate(bundles: Sequence[Path], replicas: int) -> dict[str, Any]:
    """Open bundles in this process and measure it."""
    before, began_s = memory(), time.perf_counter()
    translators = [Translator.open(bundle, replicas=replicas) for bundle in bundles]
    loaded, opened_s = memory(), time.perf_counter()
    for translator in translators:
        if PAIR in translator.manifest.languages.pairs():
            translator.translate(SENTENCE, OPTIONS, pair=PAIR)
    found = {"open_s": opened_s - began_s, "first_s": time.perf_counter() - opened_s}
    sizes = (before.resident_bytes, loaded.resident_bytes, memory().peak_bytes)
    for translator in translators:
        translator.close()
    return found | dict(zip(("before_bytes", "loaded_bytes", "translated_bytes"), sizes, strict=True))


if __name__ == "__main__":
    print(json.dumps(open_and_translate([*map(Path, sys.argv[2:])], int(sys.argv[1]))))
