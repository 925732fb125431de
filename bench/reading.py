"""Count what each entry and family of a bundle's `reading.toml` gets right, with and without it.

    python -m bench.reading models/de-en --output bench/results/reading-de-en.json

An entry is read in sentences of its section. Right is a translation with a word that the model has for the
entry's full form alone, or with the full form itself, which may be a word of the target language. An entry
that gets no more right than its absence may go, if sentences that people write are no worse without it: those
here fit few labels and units. `reading.tsv` has the sentences of the families.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from bench.command import Command, show
from bench.trials import Trial, read_trials, translations
from dragoman import Translator
from dragoman.bundle import Bundle, open_bundle
from dragoman.loading import scheduler_options
from dragoman.pipeline.segment_cache import SegmentCache
from dragoman.providers import SessionOptions
from dragoman.reading.abbreviations import SECTIONS
from dragoman.reading.reading_file import READING_FILE
from dragoman.translator import QUEUE_SIZE

FAMILIES = Path(__file__).with_name("reading.tsv")
_STEM_LETTERS = 5
"""Letters that forms of a word share."""
_WORD = re.compile(r"[^\W\d_]{2,}|[^\w\s]\w+")
FRAMES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "de": {
        "before_number": ("Das steht in {} 12.", "Wie in {} 3 zu sehen ist, wächst die Stadt."),
        "after_number": ("Es sind 5 {} übrig.", "Wir brauchen 20 {} davon."),
        "before_name": ("Gestern war {} Berger im Büro.", "Das ist die {} Botschaft in Rom."),
        "before_words": ("Das ist {} ein neues Haus.", "Er kommt {} morgen mit seinem Bruder."),
        "anywhere": ("Wir sehen uns {} wieder.", "Das Treffen war {} in Berlin."),
    },
    "en": {
        "at_start": ("{} 5 of the list is missing.", "{} 7: the old house."),
        "before_number": ("It is shown in {} 12.", "You can read this in {} 3 of the book."),
        "after_number": ("There are 5 {} left.", "We need 20 {} for the house."),
        "before_name": ("Yesterday {} Miller was here.", "The letter is from {} Smith."),
        "before_words": ("This is {} a new house.", "He works with the {} people in town."),
        "anywhere": ("We will do it {} in the office.", "The house is open {} for visitors."),
    },
}


def entry_trials(translator: Translator, tables: Mapping[str, Any]) -> Iterator[Trial]:
    """Yield the sentences of the entries; those whose full form has no translation are left out."""
    for code, table in tables.items():
        rows = [
            (section, entry, full if isinstance(full, str) else full[-1])
            for section in SECTIONS
            for entry, full in table.get(section, {}).items()
        ]
        alone = translations(translator, [full for _, _, full in rows])
        for (section, entry, full), own in zip(rows, alone, strict=True):
            stems = {re.escape(word[:_STEM_LETTERS]) for word in _WORD.findall(f"{own} {full}")}
            expected = f"(?i){'|'.join(sorted(stems))}"
            for frame in FRAMES[code][section] if stems else ():
                yield Trial(f"{section}: {entry}", code, frame.format(entry), expected)


def open_as_written(bundle: Bundle) -> Translator:
    """Open a bundle whose model reads texts as they are written."""
    files = {name: record for name, record in bundle.manifest.files.items() if name != READING_FILE}
    session = SessionOptions(1, ("cpu",))
    plain = Bundle(bundle.path, replace(bundle.manifest, files=files))
    return Translator(plain, session, scheduler_options(session, None, QUEUE_SIZE), SegmentCache(0))


def main() -> None:
    command = Command("reading", __doc__, {"bundle": Path})
    arguments = command.parse()
    bundle = open_bundle(arguments.bundle)
    tables = tomllib.loads(bundle.file(READING_FILE).read_text("utf-8"))
    with Translator.open(arguments.bundle) as read, open_as_written(bundle) as plain:
        trials = [*read_trials(FAMILIES, tables), *entry_trials(plain, tables)]
        texts = [trial.text for trial in trials]
        both = zip(trials, translations(read, texts), translations(plain, texts), strict=True)
        rows: dict[str, dict[str, Any]] = {}
        for trial, with_it, without in both:
            row = rows.setdefault(
                trial.name, {"name": trial.name, "sentences": 0, "with": 0, "without": 0, "changed": 0}
            )
            row["sentences"] += 1
            row["with"] += re.search(trial.expected, with_it) is not None
            row["without"] += re.search(trial.expected, without) is not None
            row["changed"] += with_it != without
    found = list(rows.values())
    needless = [row for row in found if row["with"] <= row["without"]]
    show(needless)
    entries = sum(len(table.get(section, {})) for table in tables.values() for section in SECTIONS)
    totals = {key: sum(row[key] for row in found) for key in ("sentences", "with", "without", "changed")}
    command.write(arguments.bundle, {"entries": entries, "totals": totals, "reading": found})
    show([{"entries": entries, **totals}])


if __name__ == "__main__":
    main()
