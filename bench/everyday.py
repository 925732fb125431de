"""Count the everyday words, interface strings, names, numbers and pronouns that translations get right.

    python -m bench.everyday models/de-en --output bench/results/everyday-de-en.json

`everyday.tsv` has a line a trial: set, source language, text, and what the translation must contain as
words, as a regular expression. A string of an interface must be the whole translation, with its capitals.
A text that addresses somebody must have one form of address.
"""

import re
from collections import Counter
from pathlib import Path

from bench.command import Command, show
from bench.trials import Trial, read_trials, translations
from dragoman import Translator
from dragoman.text.address import translated_forms
from dragoman.types import Pair

TRIALS = Path(__file__).with_name("everyday.tsv")
WHOLE = "interface"
ADDRESS = "address"
ENGLISH_TO_GERMAN = Pair("en", "de")


def is_right(trial: Trial, translation: str) -> bool:
    """Return whether the translation has what is expected."""
    if trial.name == WHOLE:
        return any(translation == one for one in trial.expected.split("|"))
    if trial.name == ADDRESS:
        return len(translated_forms(trial.text, translation, ENGLISH_TO_GERMAN)) == 1
    return re.search(rf"(?<!\w)(?:{trial.expected})(?!\w)", translation) is not None


def main() -> None:
    """Run the command."""
    command = Command("everyday", __doc__, {"bundle": Path, "--show the wrong ones": False})
    arguments = command.parse()
    right: Counter[str] = Counter()
    with Translator.open(arguments.bundle) as translator:
        trials = read_trials(TRIALS, translator.manifest.languages.sources)
        outputs = translations(translator, [trial.text for trial in trials], beam_size=4)
        for trial, translation in zip(trials, outputs, strict=True):
            right[trial.name] += (is_one_right := is_right(trial, translation))
            if arguments.show and not is_one_right:
                print(f"{trial.name}: {trial.text} -> {translation}")
    total = Counter(trial.name for trial in trials)
    rows = [{"set": name, "right": right[name], "number": count} for name, count in total.items()]
    show(rows)
    command.write(arguments.bundle, {"rows": rows})


if __name__ == "__main__":
    main()
