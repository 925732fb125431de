"""Count the numbers and identifiers that translations keep, with a judgement of its own.

    python -m bench.numbers models/de-en --output bench/results/numbers-de-en.json

Random values in sentences are translated by `dragoman batch`. A value is kept if it is in the translation
as it was, or with the signs of the target language; if not, the command may have reported its line.
"""

import json
import re
import string
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import NamedTuple
from uuid import UUID

from bench.command import Command, show

SEED = 1
MAX_SHOWN = 20

FRAMES = {
    "de": """\
Das Haus kostet {} Euro.|Die Kennung {} ist falsch.|Bitte geben Sie {} ein.|Er hat {} gelesen.
Suchen Sie {} in der Liste.|{} ist die richtige Antwort.|Ich habe gestern {} gesehen, aber nicht heute.
Die Rechnung über {} ist offen.|Nummer: {}|Unter {} finden Sie mehr.|Warum steht hier {}?
Mehr als {} Menschen leben hier.|Der Wert stieg auf {}.|Von {} war keine Rede.
Kapitel {} beginnt morgen.|Wir brauchen {}, sonst geht es nicht weiter.|Ihre Bestellung {} ist unterwegs.
„{}“ sagte sie.|Das Konto {} wurde gesperrt.|Nach {} kam der nächste Zug.|Die Datei {} fehlt.
Das sind {} mehr als im letzten Jahr.|Am Ende waren es {}!|Gerät {} antwortet nicht.|Das Buch hat {} Seiten.
Sie schrieb {} auf ein Blatt Papier.|Ohne {} geht es nicht.|Wer hat {} bestellt?|Schicken Sie {} bitte zurück.
Der Stand ist {}, wie gestern.|Rufen Sie {} an.|Auf dem Schild steht {}.|Die Antwort lautete {}.
Zwischen uns liegen {} Kilometer.|Er verdient {} im Monat.|Vergleichen Sie {} mit dem Original.
Die Stadt zahlt {} für den Umbau.|Wegen {} haben wir lange gestritten.|Der Fehler {} tritt immer wieder auf.
Kennen Sie {}?|Drücken Sie die Taste, sobald {} erscheint.|Die Maschine wiegt {} Kilogramm.
Es bleibt bei {}.|Fast {} Besucher kamen am Sonntag.|Mein Code ist {}.|In Zeile {} fehlt ein Komma.
Das Paket mit der Nummer {} ist verloren gegangen.|Ab {} wird es teurer.|Der Kurs fiel unter {}.
Gegen {} gibt es kein Mittel.""",
    "en": """\
The house costs {} euros.|The identifier {} is wrong.|Please enter {}.|He has read {}.
Look for {} in the list.|{} is the right answer.|I saw {} yesterday, but not today.
The invoice for {} is open.|Number: {}|You will find more under {}.|Why does it say {} here?
More than {} people live here.|The value rose to {}.|There was no mention of {}.
Chapter {} begins tomorrow.|We need {}, or else we cannot go on.|Your order {} is on its way.
"{}," she said.|Account {} has been closed.|After {} the next train came.|The file {} is missing.
That is {} more than last year.|In the end it was {}!|Device {} does not answer.|The book has {} pages.
She wrote {} on a sheet of paper.|It does not work without {}.|Who ordered {}?|Please send {} back.
The count is {}, as it was yesterday.|Call {}.|The sign says {}.|The answer was {}.
There are {} kilometres between us.|He earns {} a month.|Compare {} with the original.
The city pays {} for the rebuilding.|We argued about {} for a long time.|Error {} occurs again and again.
Do you know {}?|Press the button as soon as {} appears.|The machine weighs {} kilograms.
It stays at {}.|Almost {} visitors came on Sunday.|My code is {}.|Line {} lacks a comma.
The parcel with the number {} has been lost.|It gets more expensive from {}.|The price fell below {}.
There is no cure for {}.""",
}
"""Sentences for a value, between bars and line ends."""
HUNDREDS = {
    "de": (
        "{}hundert{}",
        "zwei drei vier fünf sechs sieben acht neun",
        {"fünf": 5, "zwölf": 12, "dreißig": 30},
    ),
    "en": (
        "{} hundred and {}",
        "two three four five six seven eight nine",
        {"five": 5, "twelve": 12, "thirty": 30},
    ),
}
"""Numbers in words, and parts of some."""
SIGNS = {"de": (",", "."), "en": (".", ",")}
"""Decimal and grouping sign."""


class ValueOutcome(StrEnum):
    """Outcome of a value."""

    KEPT = "kept"
    FLAGGED = "flagged"
    CHANGED = "changed silently"


@dataclass(frozen=True, slots=True)
class Value:
    """A random value."""

    kind: str
    text: str
    forms: frozenset[str]
    """All ways in which a translation may write it."""


def _draw(random: Random, characters: str, number: int) -> str:
    return "".join(random.choices(characters, k=number))


IDENTIFIERS: Mapping[str, Callable[[Random], str]] = {
    "uuid": lambda random: str(UUID(int=random.getrandbits(128), version=4)),
    "hash": lambda random: _draw(random, "0123456789abcdef", random.choice((32, 40, 64))),
    "iban": lambda random: f"DE{_draw(random, string.digits, 20)}",
    "mac": lambda random: ":".join(_draw(random, "0123456789ABCDEF", 2) for _ in range(6)),
    "long": lambda random: _draw(random, string.digits, random.randint(9, 20)),
    "coordinate": lambda random: f"{random.randint(0, 179)}.{_draw(random, string.digits, 6)}",
    "code": lambda random: "-".join(
        (_draw(random, string.ascii_uppercase, 2), _draw(random, string.digits, 5))
    ),
    "iso date": lambda random: (
        f"{random.randint(1950, 2050)}-{random.randint(1, 12):02}-{random.randint(1, 28):02}"
    ),
}


def draw_value(random: Random, source: str, target: str) -> Value:
    """Return a random value; half of them are numbers, of which many have digits in a row, some are words."""
    if random.random() < 0.5:  # noqa: PLR2004 -- half
        kind = random.choice(list(IDENTIFIERS))
        text = IDENTIFIERS[kind](random)
        return Value(kind, text, frozenset((text,)))
    if random.random() < 0.1:  # noqa: PLR2004 -- a tenth
        form, hundreds, rests = HUNDREDS[source]
        number, (rest, value) = random.randrange(2, 10), random.choice(list(rests.items()))
        text = form.format(hundreds.split()[number - 2], rest)
        return Value("in words", text, frozenset((str(100 * number + value),)))
    digits = random.choice("123456789") + _draw(random, string.digits, random.randint(1, 7))
    if random.random() < 0.5:  # noqa: PLR2004 -- half
        at = random.randrange(len(digits))
        digits = digits[:at] + digits[at] * 3 + digits[at + 1 :]
    number = int(digits[:8])
    fraction = random.choice(("", "", _draw(random, string.digits, 2)))
    texts = [_write(number, fraction, SIGNS[source], is_grouped=is_grouped) for is_grouped in (False, True)]
    written = [_write(number, fraction, SIGNS[target], is_grouped=is_grouped) for is_grouped in (False, True)]
    text = random.choice(texts)
    return Value("decimal" if fraction else "number", text, frozenset((text, *written)))


def _write(number: int, fraction: str, signs: tuple[str, str], *, is_grouped: bool) -> str:
    whole = f"{number:,}".replace(",", signs[1]) if is_grouped else str(number)
    return f"{whole}{signs[0]}{fraction}" if fraction else whole


def judge(value: Value, translation: str, *, is_reported: bool) -> ValueOutcome:
    """Return what became of a value: a form of it counts if no digit or letter touches it."""
    for form in value.forms:
        if re.search(rf"(?<![\w.,:-]){re.escape(form)}(?!\w|[.,:-]\d)", translation):
            return ValueOutcome.KEPT
    return ValueOutcome.FLAGGED if is_reported else ValueOutcome.CHANGED


def translate_lines(bundle: Path, lines: Iterable[str], pair: Sequence[str]) -> tuple[list[str], set[int]]:
    """Translate lines with the command; return them, and the numbers of those that it reported, from 1."""
    with TemporaryDirectory() as folder:
        source, output = Path(folder, "in.txt"), Path(folder, "out.txt")
        source.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        words = ["batch", str(source), "-o", str(output), "--source", pair[0], "--target", pair[1]]
        command = [sys.executable, "-m", "service", *words, "--model", str(bundle)]
        subprocess.run(command, check=False, stderr=subprocess.DEVNULL)  # noqa: S603 -- as above
        errors = output.with_name("out.txt.errors.jsonl")
        rows = errors.read_text(encoding="utf-8").splitlines() if errors.exists() else []
        reported = {int(json.loads(row)["place"].removeprefix("line ")) for row in rows}
        return output.read_text(encoding="utf-8").splitlines(), reported


class Trial(NamedTuple):
    """A value in a sentence, and what became of it."""

    kind: str
    line: str
    translation: str
    outcome: ValueOutcome


def translate_values(bundle: Path, pair: tuple[str, str], num_values: int) -> list[Trial]:
    """Translate random values, each in one of the frames."""
    random = Random(SEED)  # noqa: S311 -- draws samples
    values = [draw_value(random, *pair) for _ in range(num_values)]
    frames = re.split(r"[|\n]", FRAMES[pair[0]])
    lines = [frames[i % len(frames)].format(value.text) for i, value in enumerate(values)]
    translations, reported = translate_lines(bundle, lines, pair)
    judged = enumerate(zip(values, lines, translations, strict=True), 1)
    return [
        Trial(value.kind, line, translation, judge(value, translation, is_reported=i in reported))
        for i, (value, line, translation) in judged
    ]


def main() -> None:
    """Run the command."""
    command = Command(
        "numbers", __doc__, {"bundle": Path, "--source": "de", "--target": "en", "--values": 10_000}
    )
    arguments = command.parse()
    counts: dict[str, Counter[ValueOutcome]] = {}
    examples: list[str] = []
    pair = (arguments.source, arguments.target)
    for trial in translate_values(arguments.bundle, pair, arguments.values):
        counts.setdefault(trial.kind, Counter())[trial.outcome] += 1
        if trial.outcome is not ValueOutcome.KEPT and len(examples) < MAX_SHOWN:
            examples.append(f"  {trial.outcome}: {trial.line}\n    {trial.translation}")
    total = sum(counts.values(), Counter[ValueOutcome]())
    rows = [
        {
            "values": kind,
            **{str(outcome): found[outcome] / found.total() for outcome in ValueOutcome},
            "number": found.total(),
        }
        for kind, found in (*sorted(counts.items()), ("all", total))
    ]
    show(rows)
    print("\n".join(examples))
    command.write(arguments.bundle, {"seed": SEED, "rows": rows})


if __name__ == "__main__":
    main()
