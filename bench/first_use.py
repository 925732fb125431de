"""Time and memory of a process that opens a bundle and translates one sentence, as JSON.

`python -m bench.first_use BUNDLE`
"""

import json
import os
import sys
import time
from pathlib import Path

from dragoman import DecodingOptions, Translator
from dragoman.types import Pair
from export.memory import peak_bytes

PAIR = Pair("de", "en")
SENTENCE = "Das Wetter ist heute schön, und wir gehen in den Park."
OPTIONS = DecodingOptions(beam_size=4, min_length=20, max_length=20)
MEBIBYTE = 2**20


def open_and_translate(bundle: Path) -> dict[str, float]:
    """Return seconds to open and for the first sentence; resident MiB after opening, and peak MiB."""
    began = time.perf_counter()
    with Translator.open(bundle, replicas=1) as translator:
        opened = time.perf_counter()
        opened_mib = _resident_mib()
        translator.translate(SENTENCE, OPTIONS, pair=PAIR)
        return {
            "open_s": opened - began,
            "opened_mib": opened_mib,
            "first_s": time.perf_counter() - opened,
            "translated_mib": peak_bytes() / MEBIBYTE,
        }


def _resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MEBIBYTE


def main() -> int:
    print(json.dumps(open_and_translate(Path(sys.argv[1]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
