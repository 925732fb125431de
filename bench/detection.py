"""Accuracy and cost of language detection: lingua as the service uses it, and py3langid.

Each library and number of languages runs in its own process, because memory is measured. py3langid is
measured if it is installed.
"""

import json
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

from bench.command import Command, show
from bench.processes import MIB, memory, run_json
from bench.provenance import RESULTS
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


def measure(library: str, count: int, sentences: dict[str, Sequence[str]]) -> dict[str, Any]:
    """Measure a library among `count` languages in this process; the memory is that of the whole process."""
    detect = LIBRARIES[library](LANGUAGES[:count])
    detect("Hallo Welt")
    pairs = [(text, language) for language, texts in sentences.items() for text in texts]
    began = time.perf_counter()
    is_right = [detect(text) == language for text, language in pairs]
    seconds = time.perf_counter() - began
    short = [right for (text, _), right in zip(pairs, is_right, strict=True) if len(text) < SHORT_CHARACTERS]
    words = [(word, language) for language, listed in WORDS.items() for word in listed.split("|")]
    return {
        "library": library,
        "languages": count,
        "sentences_right": round(sum(is_right) / len(is_right), 4),
        "num_short": len(short),
        "short_right": round(sum(short) / len(short), 4),
        "words_wrong": [word for word, language in words if detect(word) != language],
        "ms_a_text": round(seconds / len(pairs) * 1e3, 3),
        "memory_mb": memory().resident_bytes // MIB,
    }


def main() -> None:
    files = {"german sentences, one per line": Path, "english sentences, one per line": Path}
    command = Command("detection", __doc__, {**files, "--output": RESULTS / "detection.json"})
    explained = "measure only this, in this process, and print it as JSON"
    command.parser.add_argument("--only", nargs=2, metavar=("LIBRARY", "COUNT"), help=explained)
    arguments = command.parse()
    if arguments.only is not None:
        library, count = arguments.only
        paths = {"de": arguments.german, "en": arguments.english}
        sentences = {code: path.read_text(encoding="utf8").splitlines() for code, path in paths.items()}
        print(json.dumps(measure(library, int(count), sentences)))
        return
    found: list[dict[str, Any]] = []
    for library, count in product(LIBRARIES, COUNTS):
        if library == "py3langid" and find_spec(library) is None:
            continue
        case = (arguments.german, arguments.english, "--only", library, count)
        found.append(run_json("bench.detection", *case))
        show(found[-1:])
    command.write(Path("models/de-en"), {"detection": found})


if __name__ == "__main__":
    main()
