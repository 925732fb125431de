"""Accuracy and cost of language detection: lingua as the service uses it, and py3langid.

Each library and number of languages runs in its own process, because memory is measured. py3langid is
measured if it is installed.
"""

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.provenance import provenance, write_result
from service.translation import detection

LANGUAGES = ("de", "en", "fr", "es", "it", "nl", "pl", "ru", "zh", "da", "sv", "pt")
COUNTS = (2, 5, 12)
SHORT_CHARACTERS = 25
WORDS = {
    "de": "Haus|Hund|Guten Morgen|Danke|Ja|Nein|Hand|Wo ist der Bahnhof?|Apfelsaft|Zug|Rechnung|Hilfe!"
    "|Vielen Dank|Ich komme|Bis morgen",
    "en": "House|Dog|Good morning|Thanks|Yes|No|hand|Where is the station?|apple juice|train|invoice|Help!"
    "|Thank you|I'm coming|See you tomorrow",
}
"""Short inputs that people type into a form, separated by |."""

Detect = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class DetectionResult:
    """Results of one library among `languages` languages."""

    library: str
    languages: int
    sentences_right: float
    """Share of all sentences, 0 to 1."""
    num_short: int
    short_right: float
    words_wrong: tuple[str, ...]
    ms_a_text: float
    memory_mb: int
    """Resident memory of the whole process at the end, in MiB."""


def lingua(codes: Sequence[str]) -> Detect:
    """Return lingua's detector as the service uses it."""
    return lambda text: detection.detect(text, codes)[0].language


def lingua_trigrams(codes: Sequence[str]) -> Detect:
    """Return lingua's detector as the service uses it for many languages."""
    detection.MAX_DETAILED = 0
    return lingua(codes)


def py3langid(codes: Sequence[str]) -> Detect:
    """Return py3langid's detector with its own model."""
    from py3langid import langid  # noqa: PLC0415 -- may not be installed

    identifier = langid.LanguageIdentifier.from_model_file(langid.MODEL_FILE, norm_probs=True)
    identifier.set_languages(list(codes))
    return lambda text: str(identifier.classify(text)[0])


LIBRARIES: dict[str, Callable[[Sequence[str]], Detect]] = {
    "lingua": lingua,
    "lingua-trigrams": lingua_trigrams,
    "py3langid": py3langid,
}


def measure(library: str, count: int, sentences: dict[str, Sequence[str]]) -> DetectionResult:
    """Measure a library in this process."""
    tell = LIBRARIES[library](LANGUAGES[:count])
    tell("Hallo Welt")
    pairs = [(text, language) for language, texts in sentences.items() for text in texts]
    began = time.perf_counter()
    is_right = [tell(text) == language for text, language in pairs]
    seconds = time.perf_counter() - began
    short = [right for (text, _), right in zip(pairs, is_right, strict=True) if len(text) < SHORT_CHARACTERS]
    wrong = [word for language, words in WORDS.items() for word in words.split("|") if tell(word) != language]
    return DetectionResult(
        library=library,
        languages=count,
        sentences_right=round(sum(is_right) / len(is_right), 4),
        num_short=len(short),
        short_right=round(sum(short) / len(short), 4),
        words_wrong=tuple(wrong),
        ms_a_text=round(seconds / len(pairs) * 1e3, 3),
        memory_mb=_memory_mb(),
    )


def _memory_mb() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0]) // 1024


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.detection", description=__doc__)
    parser.add_argument("german", type=Path, help="sentences, a line each")
    parser.add_argument("english", type=Path, help="the same")
    parser.add_argument("--output", type=Path, default=Path("bench/results/detection.json"))
    parser.add_argument("--only", nargs=2, metavar=("LIBRARY", "COUNT"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    files = {"de": arguments.german, "en": arguments.english}
    if arguments.only is not None:
        library, count = arguments.only
        sentences = {code: path.read_text(encoding="utf8").splitlines() for code, path in files.items()}
        print(json.dumps(asdict(measure(library, int(count), sentences))))
        return 0
    found: list[dict[str, Any]] = []
    for library in LIBRARIES:
        if library == "py3langid" and find_spec(library) is None:
            print("py3langid is not installed, and is left out")
            continue
        for count in COUNTS:
            command = [sys.executable, "-m", "bench.detection", *map(str, files.values())]
            done = subprocess.run(  # noqa: S603 -- this very program
                [*command, "--only", library, str(count)], capture_output=True, text=True, check=True
            )
            found.append(json.loads(done.stdout))
            print(found[-1])
    where = provenance(Path("models/de-en"), "python -m bench.detection DE EN")
    write_result(arguments.output, where, {"detection": found})
    return 0


if __name__ == "__main__":
    sys.exit(main())
