"""Insertion of things to copy into both sides of a pair. A function that does not fit a pair returns None."""

# ruff: noqa: RUF001 -- dashes as they are printed

import re
from random import Random

from training.config import ENGLISH, GERMAN
from training.corpus import TextPair
from training.variants.drawing import Maker, Weighted, pick
from training.variants.formats import Bilingual, long_amount, percentage, price, repeated_digits, time
from training.variants.names import any_name
from training.variants.noise import QUOTATION_MARKS
from training.variants.tokens import WordToken, replaced, shared_tokens
from training.variants.verbatim import ADJACENT, FOR_NAMES, FOR_NUMBERS, around

Languages = tuple[str, str]
"""Languages of source and target."""

SHARE_OF_TWO = 0.3
"""Share of the pairs with two or more shared tokens in which two tokens are replaced."""
SHARE_AROUND = 0.25
"""Share of names that are put between tags instead of being replaced."""
SHARE_OF_NAMES = 0.6
"""Share of the other replaced names that become another name."""
SHARE_AMOUNTS = 0.5
"""Share of numbers that are replaced by a long one, in each side's own format."""
SHARE_LOCAL = 0.15
"""Share of things next to a sentence that German and English write differently."""

SHARE_REPEATED_DIGITS = 0.4
"""Share of the longer numbers of which a digit is repeated: models lose one of several equal digits."""
MIN_REPEATING = 3
SHARE_PLAIN_QUOTES = 0.3
"""Share of quoted pairs with `"` on both sides."""
MAX_REPEATED_WORDS = 2
LIST_MARKS: Weighted[Maker[str]] = (
    (4, lambda rng: f"{rng.randint(1, 20)}."),
    (2, lambda rng: f"{rng.choice('abcdefg')})"),
    (2, lambda rng: f"({rng.randint(1, 9)})"),
    (2, lambda rng: rng.choice("-–•*")),
)

_LOCAL: Weighted[Maker[Bilingual]] = ((2, price), (1, percentage), (1, time), (2, long_amount))
_FIGURE = re.compile(r"(?<![\w.,:/+-])(?<![0-9] )[0-9]+(?:[.,][0-9]+)*(?![\w:/-]|[.,][0-9]| [0-9]{3})")
_SWAPPED = str.maketrans(".,", ",.")
_LAST_MARKS = re.compile(r"[.!?…,:;]*$")
_YEARS = range(1000, 2100)
_MONTHS, _DAYS = range(2, 13), range(13, 29)
_BEFORE_THE_MARK = ("{0} {1}{2}", "{0} ({1}){2}", "{0}: {1}{2}", "{0} – {1}{2}")
_TEMPLATES = {
    "emoji": ("{0}{2} {1}", "{0}{2} {1}", "{1} {0}{2}", "{0}{2}{1}"),
    "tag": ("{1} {0}{2}", "{1} {0}{2}", "{0}{2} {1}"),
    "other": (*_BEFORE_THE_MARK, "{0}{2} {1}", "{1}: {0}{2}", "{1} {0}{2}", "({1}) {0}{2}", "[{1}] {0}{2}"),
}
"""Orders of a side without its last punctuation mark, {0}, the thing, {1}, and that mark, {2}."""


def copied_inside(pair: TextPair, rng: Random, languages: Languages) -> TextPair | None:
    """Replace a name, number or code, which both sides have exactly once, by something to copy.

    A number may become a long one, which German and English write with different separators.
    """
    shared = [both for both in shared_tokens(pair) if _can_replace(both[0], pair)]
    if not shared:
        return None
    count = 2 if len(shared) > 1 and rng.random() < SHARE_OF_TWO else 1
    chosen = rng.sample(shared, count)
    things = [_in_place_of(source, rng, languages) for source, _ in chosen]
    copies = [thing.source for thing in things], [thing.target for thing in things]
    if _is_present([*copies[0], *copies[1]], pair) or len(set(things)) < count:
        return None
    sources, targets = [source for source, _ in chosen], [target for _, target in chosen]
    return TextPair(
        _replace_all(pair.source, sources, copies[0]), _replace_all(pair.target, targets, copies[1])
    )


def copied_beside(pair: TextPair, rng: Random, languages: Languages) -> TextPair | None:
    """Put something to copy before or after both sides, or before their last punctuation mark."""
    thing = _draw_adjacent(rng, languages)
    if _is_present([thing.source], pair) or _is_present([thing.target], pair):
        return None
    template = rng.choice(_TEMPLATES[_kind_of(thing.source)])
    source, target = (_LAST_MARKS.sub("", text) for text in (pair.source, pair.target))
    marks = pair.source[len(source) :], pair.target[len(target) :]
    if template in _BEFORE_THE_MARK and marks[0] != marks[1]:
        return None
    return TextPair(
        template.format(source, thing.source, marks[0]), template.format(target, thing.target, marks[1])
    )


def other_number(pair: TextPair, rng: Random, languages: Languages) -> TextPair | None:
    """Replace a number that both sides have exactly once by another one, in each side's own format.

    German `6,7` and English `6.7` are the same number; so are two that are written alike, such as versions.
    The length stays. Years stay years; numbers that may be days, hours or months stay in their range.
    """
    is_swapping = _is_german_and_english(languages)
    targets = _figures_once(pair.target)
    fitting = [
        (figure, other)
        for digits, figure in _figures_once(pair.source).items()
        if (other := targets.get(digits)) is not None
        and (figure.core == other.core or (is_swapping and figure.core.translate(_SWAPPED) == other.core))
        and digits not in {"0", "1"}
    ]
    if not fitting:
        return None
    figure, other = rng.choice(fitting)
    old = re.sub("[^0-9]", "", figure.core)
    digits = _other_digits(old, rng) if figure.core == old else _as_many_digits(old, rng)
    if digits == old:
        return None
    return TextPair(
        replaced(pair.source, figure, _in_shape(digits, figure.core)),
        replaced(pair.target, other, _in_shape(digits, other.core)),
    )


def quoted(pair: TextPair, rng: Random, languages: Languages) -> TextPair | None:
    """Put both sides in quotation marks: plain ones, or a style of the source and the target's usual one."""
    if any(set("\"'„“”»«‚‘`") & set(side) for side in (pair.source, pair.target)):
        return None
    if rng.random() < SHARE_PLAIN_QUOTES:
        return TextPair(f'"{pair.source}"', f'"{pair.target}"')
    styles, usual = (QUOTATION_MARKS.get(language, QUOTATION_MARKS[ENGLISH]) for language in languages)
    return TextPair(_between(pair.source, rng.choice(styles)), _between(pair.target, usual[0]))


def list_mark(pair: TextPair, rng: Random) -> TextPair | None:
    """Put the mark of a list item before both sides."""
    if not (pair.source[0].isalpha() and pair.target[0].isalpha()):
        return None
    item = pick(rng, LIST_MARKS)(rng)
    return TextPair(f"{item} {pair.source}", f"{item} {pair.target}")


def repeated(pair: TextPair, rng: Random) -> TextPair | None:
    """Repeat a line of one or two words on both sides."""
    sides = [_LAST_MARKS.sub("", text) for text in (pair.source, pair.target)]
    if any(not side or len(side.split(" ")) > MAX_REPEATED_WORDS for side in sides):
        return None
    count, mark = rng.randint(2, 20), rng.choice(("", "", "", ",", "!", "."))
    source, target = (f"{mark} ".join([side] * count) + mark.replace(",", "") for side in sides)
    return TextPair(source, target)


def _between(text: str, marks: tuple[str, str]) -> str:
    return f"{marks[0]}{text}{marks[1]}"


def _can_replace(token: WordToken, pair: TextPair) -> bool:
    if token.is_code:
        return token.has_balanced_brackets and pair.source != token.core
    if token.is_number:
        return token.core not in {"0", "1"}
    return token.is_name


def _in_place_of(token: WordToken, rng: Random, languages: Languages) -> TextPair:
    if token.is_number and _is_german_and_english(languages) and rng.random() < SHARE_AMOUNTS:
        return long_amount(rng).to_pair(languages[0])
    if token.is_number:
        text = pick(rng, FOR_NUMBERS)(rng)
    elif not token.is_code and rng.random() < SHARE_AROUND:
        text = around(token.core, rng)
    elif not token.is_code and rng.random() < SHARE_OF_NAMES:
        text = any_name(rng)
    else:
        text = pick(rng, FOR_NAMES)(rng)
    return TextPair(text, text)


def _is_german_and_english(languages: Languages) -> bool:
    return set(languages) == {GERMAN, ENGLISH}


def _draw_adjacent(rng: Random, languages: Languages) -> TextPair:
    if rng.random() < SHARE_LOCAL and _is_german_and_english(languages):
        return pick(rng, _LOCAL)(rng).to_pair(languages[0])
    text = pick(rng, ADJACENT)(rng)
    return TextPair(text, text)


def _is_present(things: list[str], pair: TextPair) -> bool:
    """Return whether a side already contains one of the things, which would make the copy ambiguous."""
    return any(thing in side for thing in things for side in (pair.source, pair.target))


def _replace_all(text: str, tokens: list[WordToken], things: list[str]) -> str:
    changes = sorted(zip(tokens, things, strict=True), key=lambda change: -change[0].begin)
    for token, thing in changes:
        text = replaced(text, token, thing)
    return text


def _kind_of(thing: str) -> str:
    if thing.startswith(("@", "#")):
        return "tag"
    return "other" if thing.isascii() or any(character in "€£" for character in thing) else "emoji"


def _figures_once(text: str) -> dict[str, WordToken]:
    """Return the numbers of a text by their digits, without those whose digits occur twice."""
    found: dict[str, list[WordToken]] = {}
    for match in _FIGURE.finditer(text):
        digits = re.sub("[^0-9]", "", match.group())
        found.setdefault(digits, []).append(WordToken(match.group(), *match.span()))
    return {digits: figures[0] for digits, figures in found.items() if len(figures) == 1}


def _other_digits(digits: str, rng: Random) -> str:
    """Draw another month, day or year for what may be one (months vary in length), else as many digits."""
    value = int(digits)
    if str(value) == digits:
        for values in (_MONTHS, _DAYS):
            if value in values:
                return str(rng.choice(values))
        if value in _YEARS:
            return str(rng.randint(max(_YEARS.start, value - 60), min(_YEARS.stop - 1, value + 25)))
    return _as_many_digits(digits, rng)


def _as_many_digits(digits: str, rng: Random) -> str:
    first = "0" if digits[0] == "0" else rng.choice("123456789")
    if len(digits) > MIN_REPEATING and rng.random() < SHARE_REPEATED_DIGITS:
        return first + repeated_digits(rng, len(digits) - 1)
    return first + "".join(rng.choices("0123456789", k=len(digits) - 1))


def _in_shape(digits: str, shape: str) -> str:
    """Format the digits with the separators of `shape`, if it has any."""
    if shape.isdigit():
        return digits
    rest = iter(digits)
    return "".join(next(rest) if character.isdigit() else character for character in shape)
