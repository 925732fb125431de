"""Count the placeholders that translations keep, with patterns of its own.

    python -m bench.placeholders BUNDLE STRINGS --source de --target en --output placeholders-de-en.json

STRINGS has a text of a user interface on each line; lines without a placeholder are left out. Each text is
translated as it is, with other placeholders in place of its own, and with words in other scripts.
"""

import re
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from random import Random

from bench.command import Command, show
from dragoman import Router
from service.batch.entry_translator import RoutedEntryTranslator
from service.formats.entries import Entry
from service.text.modes import PlaceholderMode
from service.translation.options import BATCH

SEED = 1
MAX_CHARACTERS = 300
MAX_SHOWN = 20

FOUND = re.compile(
    r"%\d+\$[sd]|%\(\w+\)[sd]|%\{\w+\}|\$\{\w+\}|\{\{ ?\w+ ?\}\}|\{\w*\}|(?<![\d%])%(?:l?d|s)"
    r"|<x id=\"\d+\"/>|&[a-z]+;|https?://[a-z./\d?=-]*[a-z\d]|[a-z.]+@[a-z-]+\.[a-z]+|`[^`]+`"
    r"|[\u0370-\u1cff\u2e80-\ud7ff]+"
)
"""Placeholders in the strings, and those that replace them."""

WORDS = ("user", "file", "path", "total", "count", "item", "label", "version", "page", "value", "message")
SHAPES = (
    "{%s}", "{%sName}", "%%(%s)s", "%%(%s)d", "${%s}", "{{%s}}", "{{ %s }}", "%%{%s}", "https://%s.example.org/a?b=1",
    "%s@mail-example.org", "`%s_id`",
)  # fmt: skip
SCRIPTS = ("Москва", "東京", "北京市", "שלום", "القاهرة", "दिल्ली", "서울", "Αθήνα", "Київ", "თბილისი")
NUMBERED = ("{%d}", "%%%d$s", "%%%d$d", '<x id="%d"/>')


@dataclass(slots=True)
class Counts:
    """What became of the placeholders of one set of strings."""

    num_strings: int = 0
    num_placeholders: int = 0
    num_intact: int = 0
    """Placeholders that the translation has as often as its source."""
    num_damaged_strings: int = 0
    num_sources_kept: int = 0
    """Strings whose translation failed a check, so that the source was kept."""
    seconds: float = 0.0
    examples: list[tuple[str, str]] = field(default_factory=list)
    """Some strings with damaged placeholders, and their translations."""

    @property
    def share_intact(self) -> float:
        return self.num_intact / max(1, self.num_placeholders)

    def to_json(self) -> dict[str, float]:
        """Return the numbers; the strings may be under a licence of their own."""
        numbers = {name: value for name, value in asdict(self).items() if name != "examples"}
        return {"share_intact": round(self.share_intact, 6), **numbers}

    def add(self, source: str, translation: str) -> None:
        """Count a string and its translation."""
        own, found = (Counter(FOUND.findall(text)) for text in (source, translation))
        self.num_strings += 1
        self.num_placeholders += own.total()
        self.num_intact += sum(number for one, number in own.items() if found[one] == number)
        if own != found:
            self.num_damaged_strings += 1
            if len(self.examples) < MAX_SHOWN:
                self.examples.append((source, translation))


def with_placeholders(lines: Iterable[str]) -> list[str]:
    """Return the different lines that have a placeholder and other text."""
    texts = dict.fromkeys(line.strip() for line in lines if len(line) <= MAX_CHARACTERS)
    return [text for text in texts if FOUND.search(text) and any(map(str.isalpha, FOUND.sub("", text)))]


def vary(text: str, random: Random) -> str:
    """Return a text with other placeholders, each different from the others."""
    own = list(dict.fromkeys(FOUND.findall(text)))
    fresh = dict[str, str]()
    for i, placeholder in enumerate(own):
        number = 3 * i + random.randint(1, 3)
        shape = random.choice((*SHAPES, *NUMBERED))
        fresh[placeholder] = shape % (
            number if shape in NUMBERED else f"{random.choice(WORDS)}{'ab'[i % 2] * i}"
        )
    return FOUND.sub(lambda found: fresh[found[0]], text)


def in_scripts(text: str, random: Random) -> str:
    """Return a text with words in other scripts, in place of its placeholders."""
    own = dict.fromkeys(FOUND.findall(text))
    fresh = dict(zip(own, random.sample(SCRIPTS, min(len(own), len(SCRIPTS))), strict=False))
    return FOUND.sub(lambda found: fresh.get(found[0], ""), text)


def count(router: Router, pair: tuple[str, str], texts: Sequence[str], mode: PlaceholderMode) -> Counts:
    """Translate texts as messages and count their placeholders."""
    counts = Counts()
    translator = RoutedEntryTranslator(router, *pair, replace(BATCH, placeholders=mode))
    started_s = time.perf_counter()
    outcomes = list(translator.translate(Entry(text, "", is_message=True) for text in texts))
    counts.seconds = round(time.perf_counter() - started_s, 1)
    for text, outcome in zip(texts, outcomes, strict=True):
        if outcome.is_source:
            counts.num_sources_kept += 1
        counts.add(text, text if outcome.is_source else outcome.marked.text)
    return counts


def main() -> None:
    """Run the command."""
    command = Command(
        "placeholders",
        __doc__,
        {
            "bundle": Path,
            "strings text of a user interface on each line": Path,
            "--source": "de",
            "--target": "en",
            "--limit maximum number of strings, drawn at random": 2000,
        },
    )
    arguments = command.parse()
    random = Random(SEED)  # noqa: S311 -- draws samples
    texts = with_placeholders(arguments.strings.read_text(encoding="utf-8").splitlines())
    texts = random.sample(texts, min(arguments.limit, len(texts)))
    varied = [vary(text, random) for text in texts]
    foreign = [in_scripts(text, random) for text in texts]
    pair = (arguments.source, arguments.target)
    rows: list[dict[str, object]] = []
    with Router.open({arguments.bundle.name: arguments.bundle}) as router:
        for name, strings in (("own", texts), ("others", varied), ("words in other scripts", foreign)):
            for mode in PlaceholderMode:
                counts = count(router, pair, strings, mode)
                rows.append({"placeholders": name, "mode": str(mode), **counts.to_json()})
                show(rows[-1:])
                if mode is PlaceholderMode.AUTO:
                    print("\n".join(f"  {source}\n    {target}" for source, target in counts.examples))
    command.write(arguments.bundle, {"seed": SEED, "rows": rows})


if __name__ == "__main__":
    main()
