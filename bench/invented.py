"""Count the words that a model invents: they stand in no known text of their language, nor in the source.

    python -m bench.invented models/en-de sources.en --known data/*.de --output result.json

A word of two or more known words, as German writes them, with `s` between them or not, is known, too. Words
with a capital count like others, those with a digit do not. Needs no reference translation.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

from bench.command import Command, show
from bench.trials import translations
from dragoman import Translator
from export.compression import read_lines

_WORD = re.compile(r"[^\W\d_]+")
_MIN_PART = 4
"""Minimum letters of a part of a compound."""
_MIN_TIMES = 2
"""Number of times that a word must occur in the known text: what occurs once may be a misspelling."""
_JOINTS = ("", "s", "n", "en", "es", "-")
_SAMPLES = 30
"""Invented words that the result shows."""


def words_of(text: str) -> Iterator[str]:
    """Yield the words of a text in lower case."""
    return (found[0].lower() for found in _WORD.finditer(text))


def read_known(files: Iterable[Path], column: int) -> set[str]:
    """Return the words that occur in one column of text files, but for rare ones; `.xz` is unpacked."""
    times: Counter[str] = Counter()
    for path in files:
        for line in read_lines(path, OSError):
            times.update(words_of(line.split("\t")[column]))
    return {word for word, count in times.items() if count >= _MIN_TIMES}


def is_compound(word: str, known: set[str]) -> bool:
    """Return whether a word can be cut into known words of some letters each."""
    ends = [0]
    for end in range(_MIN_PART, len(word) + 1):
        parts = (word[start:end] for start in ends if end - start >= _MIN_PART)
        if any(
            part.removesuffix(joint) in known
            for part in parts
            for joint in _JOINTS
            if len(part) > len(joint) + 2
        ):
            ends.append(end)
    return ends[-1] == len(word)


def invented_words(source: str, translation: str, known: set[str]) -> list[str]:
    """Return the words of a translation that are neither known nor in its source nor compounds."""
    given = set(words_of(source))
    return [
        word
        for word in words_of(translation)
        if len(word) > 1 and word not in known and word not in given and not is_compound(word, known)
    ]


def main() -> None:
    """Run the command."""
    settings = {
        "bundle": Path,
        "sources text, a sentence a line": Path,
        "--known": [Path],
        "--column of the files": -1,
    }
    command = Command("invented", __doc__, settings)
    arguments = command.parse()
    known = read_known(arguments.known, arguments.column)
    sources = arguments.sources.read_text("utf-8").splitlines()
    num_words, found = 0, list[str]()
    with Translator.open(arguments.bundle) as translator:
        for source, translation in zip(sources, translations(translator, sources, beam_size=4), strict=True):
            num_words += sum(1 for _ in words_of(translation))
            found += invented_words(source, translation, known)
    per_thousand = round(1000 * len(found) / max(1, num_words), 2)
    row = {"words": num_words, "known": len(known), "invented": len(found), "per_1000": per_thousand}
    show([row])
    print(" ".join(found[:_SAMPLES]))
    command.write(arguments.bundle, {"rows": [row], "sample": found[:_SAMPLES]})


if __name__ == "__main__":
    main()
