"""Carelessly written sources. Each function returns a changed source, or None if it does not fit the pair.

No function changes white space: it is folded to single spaces both before training and before translation.
"""

# ruff: noqa: RUF001 -- quotation marks of all kinds

import re
from functools import lru_cache
from random import Random

from training.config import ENGLISH, GERMAN
from training.corpus import TextPair
from training.variants.drawing import sectioned_list, words
from training.variants.tokens import WordToken, is_code, replaced, tokens_of

TITLE_WORDS = range(3, 15)
CHARACTERS_A_TYPO = range(20, 61)
MIN_TYPO_WORD_LEN = 4
MIN_WORDS_BESIDE_CAPITALS = 3
MAX_CHAT_WORDS = 16
SHARE_OF_CHAT_WORDS = 0.7
"""Share of the words with a short form that have it in a chat."""
SHARE_MISSPELT = 0.4
"""Share of typing mistakes that spell a sound in another way, where the word has one."""
SHARE_CARELESS = 0.3
"""Share of sources with typing mistakes that are also in lower case and without a final mark."""
SPELLINGS = (
    ("ie", "ei"), ("ei", "ie"), ("ie", "i"), ("ck", "k"), ("tz", "z"), ("ph", "f"), ("wh", "w"), ("ea", "ee"),
    ("äu", "eu"), ("ä", "e"), ("ss", "s"), ("s", "ss"), ("ll", "l"), ("l", "ll"), ("mm", "m"), ("m", "mm"),
    ("nn", "n"), ("n", "nn"), ("tt", "t"), ("pp", "p"), ("rr", "r"), ("dt", "t"), ("gh", "g"), ("ent", "ant"),
)  # fmt: skip
"""Spellings of a sound, and another one that careless writers use."""

_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss"})
_CAPITAL_UMLAUTS = {"Ä": "Ae", "Ö": "Oe", "Ü": "Ue"}

QUOTATION_MARKS = {
    GERMAN: (("„", "“"), ("„", "”"), ("»", "«"), ("“", "”")),
    ENGLISH: (("“", "”"), ("“", "”"), ("«", "»")),
}
_DOUBLE_QUOTES = re.compile("[„“”»«]")
_STRAIGHT_QUOTED = re.compile(r'(?<![\w=])"([^"=<>]+)"(?!\w)')
_APOSTROPHE = re.compile(r"(?<=\w)'(?=\w)")
_SINGLE_QUOTES = re.compile("[‚‘’]")
_DASH = re.compile("(?<= )(?:--?|–|—)(?= )")
_ELLIPSIS = re.compile(r"(?<!\.)\.\.\.(?!\.)|…")
_LAST_MARK = re.compile(r"(?<=[^\W_])[.!?]$")
_SMALL_TITLE_WORDS = frozenset(words("a an and at by for from in of on or the to with"))
_LETTERS = re.compile(r"[^\W\d_]+")


def lower_source(pair: TextPair) -> str | None:
    """Convert to lower case, unless both sides share code with a capital letter, which the target keeps."""
    in_target = {token.core for token in tokens_of(pair.target)}
    shared = [token for token in tokens_of(pair.source) if token.core in in_target]
    if any(_is_spelt_by_case(token) for token in shared):
        return None
    return _if_changed(pair.source.lower(), pair)


def small_first(pair: TextPair, _rng: Random) -> str | None:
    """Convert the first letter to lower case, unless the first word is code or has other capitals."""
    source = pair.source
    first = source.split(" ", maxsplit=1)[0]
    if is_code(first) or first[1:] != first[1:].lower():
        return None
    return _if_changed(source[:1].lower() + source[1:], pair)


def title_case(pair: TextPair, rng: Random) -> str | None:
    """Write the source in title case; half of the sources keep short English function words in lower case."""
    parts = pair.source.split(" ")
    if len(parts) not in TITLE_WORDS or is_code(pair.source):
        return None
    stay_small = _SMALL_TITLE_WORDS if rng.random() < 1 / 2 else frozenset[str]()
    rest = (part if part in stay_small else _with_capital(part) for part in parts[1:])
    return _if_changed(" ".join([_with_capital(parts[0]), *rest]), pair)


def quotes(pair: TextPair, rng: Random, language: str) -> str | None:
    """Make quotation marks, apostrophes, dashes and ellipses plain, or use another style of the language."""
    if "`" in pair.source:  # a quotation mark in some manuals, code in others
        return None
    straight = _straight(pair.source)
    if straight != pair.source and rng.random() < 1 / 2:
        return straight
    opening, closing = rng.choice(QUOTATION_MARKS.get(language, QUOTATION_MARKS[ENGLISH]))
    source = straight
    if source.count('"') % 2 == 0:
        source = _STRAIGHT_QUOTED.sub(rf"{opening}\1{closing}", source)
    source = _APOSTROPHE.sub(rng.choice("’’’´`"), source)
    source = _DASH.sub(rng.choice(("–", "—", "-", "--")), source)
    source = _ELLIPSIS.sub(rng.choice(("…", "...", "....", "..")), source)
    return _if_changed(source, pair)


def punctuation(pair: TextPair, rng: Random) -> str | None:
    """Repeat the final punctuation mark, put a space before it or, if it is ! or ?, mix it with another."""
    found = _LAST_MARK.search(pair.source)
    if found is None or not pair.target.endswith(found.group()):
        return None
    mark = found.group()
    shapes = [mark * 2, mark * 3, mark * rng.randint(4, 6), f" {mark}", f" {mark * 3}"]
    if mark == "?":
        shapes += ["?!", "!?", "?!?"]
    if mark == "!":
        shapes += ["!1", "!.", " !!"]
    return pair.source[: found.start()] + rng.choice(shapes)


def spelt_umlauts(pair: TextPair, _rng: Random) -> str | None:
    """Spell German umlauts and ß out, unless the target contains one of their words, which it would keep."""
    if any(word in pair.target for word in _words_with_umlauts(pair.source)):
        return None
    spelt = pair.source.translate(_UMLAUTS)
    for capital, letters in _CAPITAL_UMLAUTS.items():
        spelt = re.sub(f"{capital}(?=[A-Z])|(?<=[A-Z]){capital}", letters.upper(), spelt)
        spelt = spelt.replace(capital, letters)
    return _if_changed(spelt, pair)


def swiss_spelling(pair: TextPair, _rng: Random) -> str | None:
    """Write ss for ß, unless the target contains one of the words with ß, which it would keep."""
    if any("ß" in word and word in pair.target for word in _words_with_umlauts(pair.source)):
        return None
    return _if_changed(pair.source.replace("ß", "ss"), pair)


def upper_word(pair: TextPair, rng: Random) -> str | None:
    """Write one word of the source in capitals, for emphasis, unless the target contains it."""
    fitting = [
        token
        for token in tokens_of(pair.source)
        if len(token.core) > 1 and _LETTERS.fullmatch(token.core) and token.core not in pair.target
    ]
    if len(fitting) < MIN_WORDS_BESIDE_CAPITALS:
        return None
    token = rng.choice(fitting)
    return _if_changed(replaced(pair.source, token, token.core.upper()), pair)


def chat(pair: TextPair, rng: Random, language: str) -> str | None:
    """Write a short source as in a chat: abbreviated, in lower case, mostly without marks."""
    short_forms = _chat_words(language)
    lower = lower_source(pair) or pair.source.lower()
    if len(lower.split(" ")) > MAX_CHAT_WORDS or is_code(lower) or not short_forms:
        return None
    pattern = re.compile(
        rf"(?<![\w'’])(?:{'|'.join(sorted(map(re.escape, short_forms), key=len, reverse=True))})(?![\w'’])"
    )
    source = pattern.sub(
        lambda found: rng.choice(short_forms[found[0]]) if rng.random() < SHARE_OF_CHAT_WORDS else found[0],
        lower.replace("’", "'"),
    )
    if source == lower.replace("’", "'"):
        return None
    without_marks = _LAST_MARK.sub("", source)
    return rng.choice((source, without_marks, without_marks, without_marks.replace(",", "")))


@lru_cache(4)
def _chat_words(language: str) -> dict[str, list[str]]:
    """Return the short forms of words in chats, by their usual form in lower case."""
    lines = sectioned_list("chat").get(language, [])
    return {usual: short.split(", ") for usual, short in (line.split(" = ") for line in lines)}


def typo(pair: TextPair, rng: Random) -> str | None:
    """Double, drop, swap or misspell letters of some words; some sources lose capitals and final marks too.

    First and last letters stay. Names and other words that the target contains do not change.
    """
    long_words = [
        token
        for token in tokens_of(pair.source)
        if len(token.core) >= MIN_TYPO_WORD_LEN
        and _LETTERS.fullmatch(token.core)
        and token.core[1:] == token.core[1:].lower()
        and token.core not in pair.target
    ]
    num_typos = max(1, len(pair.source) // rng.choice(CHARACTERS_A_TYPO))
    source = pair.source
    for token in sorted(
        rng.sample(long_words, min(num_typos, len(long_words))), key=lambda token: -token.begin
    ):
        source = source[: token.begin] + _mistype(token.core, rng) + source[token.end :]
    if source != pair.source and rng.random() < SHARE_CARELESS and lower_source(pair) is not None:
        source = _APOSTROPHE.sub("", _LAST_MARK.sub("", source.lower()))
    return _if_changed(source, pair)


def _is_spelt_by_case(token: WordToken) -> bool:
    """Return whether a token is code with a capital letter or has mixed case after its first letter."""
    rest = token.core[1:]
    is_mixed = rest not in {rest.lower(), rest.upper()}
    return token.core != token.core.lower() and (token.is_code or is_mixed)


def _straight(text: str) -> str:
    text = _SINGLE_QUOTES.sub("'", _DOUBLE_QUOTES.sub('"', text))
    return _DASH.sub("-", text).replace("…", "...")


def _with_capital(word: str) -> str:
    position = next((index for index, letter in enumerate(word) if letter.isalpha()), 0)
    if word[position : position + 1] == "ß":
        return word
    return word[:position] + word[position : position + 1].upper() + word[position + 1 :]


def _words_with_umlauts(text: str) -> list[str]:
    return [token.core for token in tokens_of(text) if re.search("[äöüÄÖÜß]", token.core)]


def _mistype(word: str, rng: Random) -> str:
    spellings = [(position, *pair) for pair in SPELLINGS if (position := word.find(pair[0], 1, -1)) > 0]
    if spellings and rng.random() < SHARE_MISSPELT:
        position, usual, other = rng.choice(spellings)
        return word[:position] + other + word[position + len(usual) :]
    position = rng.randrange(1, len(word) - 2)
    here, following = word[position], word[position + 1]
    return (
        word[:position]
        + rng.choice((here * 2 + following, following, following + here))
        + word[position + 2 :]
    )


def _if_changed(source: str, pair: TextPair) -> str | None:
    return source if source != pair.source else None
