"""BLEU without case of lines in capitals, with words in capitals, in Swiss spelling, with quotation marks.

python -m bench.spelling models/de-en --set tatoeba1k data/tatoeba1k.de data/tatoeba1k.en ... \
    --output bench/results/spelling-de-en.json

Each spelling is translated twice: as the engine does it, and with its respelling off.
docs/explanation/decisions/0017-two-spellings-of-a-segment.md has the result.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

from bench.command import Command, show
from bench.quality import SETS, EvaluationSet, read_sets, scores_of, translate_all
from bench.tables import Result, table
from dragoman import DecodingOptions, Translator
from dragoman.text.respelling import Respeller

SEED = 3
MIN_LETTERS = 3
"""Minimum number of letters of a word that is put into capitals."""
WORDS_PER_CAPITALS = 10
"""A line gets one word in capitals, and one more if it has as many words."""

QUOTED = re.compile(r"(?:^|\s)[\"'\u2018\u201a\u201c\u201e\xab\xbb]\w")
QUOTATION_MARKS = re.compile(
    r"(?<!\w)[\"'\u2018\u201a\u201c\u201e\xab\xbb]|[\"'\u2018\u2019\u201c\u201d\xab\xbb](?!\w)"
)
STYLES = ('"{}"', "\u201e{}\u201c", "\xbb{}\xab", "\u201c{}\u201d", "\u2018{}\u2019")
Spell = Callable[[str, Random], str | None]
"""Returns a line in another spelling; None for a line that has no such spelling."""


def emphasise(line: str, random: Random) -> str | None:
    """Return a line with one or two random words in capitals; None if it has no such words."""
    words = line.split(" ")
    suitable = [place for place, word in enumerate(words) if len(word) >= MIN_LETTERS and word.isalpha()]
    wanted = 1 + (len(words) >= WORDS_PER_CAPITALS)
    for place in random.sample(suitable, min(len(suitable), wanted)):
        words[place] = words[place].upper()
    emphasised = " ".join(words)
    return None if emphasised == line else emphasised


def quote(line: str, random: Random) -> str | None:
    """Return a line in quotation marks of a random style; None if it has some."""
    return None if QUOTATION_MARKS.search(line) else random.choice(STYLES).format(line)


SPELLINGS: Mapping[str, Spell] = {
    "words in capitals": emphasise,
    "in capitals": lambda line, _: line.upper(),
    "ss for ß": lambda line, _: line.replace("ß", "ss") if "ß" in line else None,
    "quotation marks": lambda line, _: line if QUOTED.search(line) else None,
    "in quotation marks": quote,
}


def measure_spelling(translator: Translator, one: EvaluationSet, name: str, num_lines: int) -> dict[str, Any]:
    """Return BLEU without case, 0 to 100, of the first lines that have the spelling.

    Quotation marks do not count. `bleu_as_written` is without the engine's respelling, `bleu_as_given` of
    the lines before the change.
    """
    random = Random(SEED)  # noqa: S311 -- reproducible, not secret
    pairs = list(zip(*one.lines(), strict=True))
    spelled = [(SPELLINGS[name](source, random), source, target) for source, target in pairs]
    chosen = [(line, source, target) for line, source, target in spelled if line is not None][:num_lines]
    row: dict[str, Any] = {"test_set": one.name, "spelling": name, "lines": len(chosen)}
    if not chosen:
        return row
    sources, targets = [each[0] for each in chosen], [QUOTATION_MARKS.sub("", each[2]) for each in chosen]

    def bleu(lines: list[str]) -> float:
        outputs = translate_all(translator, lines, DecodingOptions())
        unquoted = [QUOTATION_MARKS.sub("", output.text) for output in outputs]
        return float(scores_of(unquoted, targets)["bleu_lower"])

    with patch.object(Respeller, "respell", return_value=None):
        row["bleu_as_written"] = bleu(sources)
    return row | {"bleu": bleu(sources), "bleu_as_given": bleu([each[1] for each in chosen])}


def spelling_table(*results: Result) -> str:
    """Render BLEU without respelling, with it, and of the lines as they were given."""
    rows = [
        {"model": result["provenance"]["bundle"], **row}
        for result in results
        for row in result["results"]
        if row["lines"]
    ]
    return table(
        "model | test set | spelling | lines | as it is | respelled | lines as given",
        "{model} | {test_set} | {spelling} | {lines} | "
        "{bleu_as_written:.1f} | {bleu:.1f} | {bleu_as_given:.1f}",
        rows,
    )


def main() -> None:
    command = Command("spelling", __doc__, {"bundle": Path, "--lines": 300, **SETS})
    arguments = command.parse()
    with Translator.open(arguments.bundle) as translator:
        results = [
            measure_spelling(translator, one, name, arguments.lines)
            for one in read_sets(arguments)
            for name in SPELLINGS
        ]
    show(results)
    command.write(arguments.bundle, {"results": results})


if __name__ == "__main__":
    main()
