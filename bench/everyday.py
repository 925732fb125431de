"""Count the everyday words, interface strings, names, numbers and pronouns that translations get right.

    python -m bench.everyday models/de-en --output bench/results/everyday-de-en.json

`everyday.tsv` has a line a trial: set, source language, text, and what the translation must contain as
words, as a regular expression. A string of an interface must be the whole translation, with its capitals.
A text that addresses somebody must have one form of address.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.command import Command, show
from dragoman import DecodingOptions, Translation, Translator
from dragoman.languages import list_languages
from dragoman.text.address import translated_forms
from dragoman.types import Pair

TRIALS = Path(__file__).with_name("everyday.tsv")
WHOLE = "interface"
ADDRESS = "address"
ENGLISH_TO_GERMAN = Pair("en", "de")


@dataclass(frozen=True, slots=True)
class Trial:
    """A text, and the regular expression of what its translation must contain."""

    name: str
    language: str
    text: str
    expected: str

    def is_right(self, translation: str) -> bool:
        """Return whether the translation has what is expected."""
        if self.name == WHOLE:
            return any(translation == one for one in self.expected.split("|"))
        if self.name == ADDRESS:
            return len(translated_forms(self.text, translation, ENGLISH_TO_GERMAN)) == 1
        return re.search(rf"(?<!\w)(?:{self.expected})(?!\w)", translation) is not None


def read_trials(language: str) -> Iterator[Trial]:
    """Yield the trials of a source language."""
    with TRIALS.open(encoding="utf-8", newline="") as lines:
        for row in csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            trial = Trial(*row)
            if trial.language == language:
                yield trial


def translate(translator: Translator, trials: Iterable[Trial]) -> Iterator[str]:
    """Yield the translations as shipped, with beam 4."""
    for outcome in translator.translate([trial.text for trial in trials], DecodingOptions(beam_size=4)):
        yield outcome.text if isinstance(outcome, Translation) else ""


def main() -> None:
    """Run the command."""
    command = Command("everyday", __doc__, {"bundle": Path, "--show the wrong ones": False})
    arguments = command.parse()
    right: Counter[str] = Counter()
    with Translator.open(arguments.bundle) as translator:
        trials = list(read_trials(list_languages(translator.manifest.languages.sources)))
        for trial, translation in zip(trials, translate(translator, trials), strict=True):
            right[trial.name] += (is_right := trial.is_right(translation))
            if arguments.show and not is_right:
                print(f"{trial.name}: {trial.text} -> {translation}")
    total = Counter(trial.name for trial in trials)
    rows = [{"set": name, "right": right[name], "number": count} for name, count in total.items()]
    show(rows)
    command.write(arguments.bundle, {"rows": rows})


if __name__ == "__main__":
    main()
