# ruff: noqa: RUF001 -- characters that look alike belong here
"""Lines of text as no book prints them."""

import random
from collections.abc import Sequence

SCRIPTS = (
    "äöüßéñçøåłžđğıİşÆœ",
    "привет мир щъыьэюя",
    "日本語テキスト漢字カナ中文繁體简体",
    "한국어텍스트",
    "שלום עולם",
    "مرحبا بالعالم۱۲۳",
    "हिन्दी पाठ",
    "ไทยภาษา",
    "ελληνικά",
    "αβγ∑∏√∞≠≤≥→⇒",
    "①②③ⅣⅤ½¾ﬁﬂﷺ㎏㎡℃™№",
    "ＦＵＬＬｗｉｄｔｈ１２３！？",
    "😀👍🏽👨‍👩‍👧‍👦🇩🇪❤️",
    "𝔘𝔫𝔦𝔠𝔬𝔡𝔢𐍈𠀀𠮷",
)
SPACES = (
    " ",
    "  ",
    "   ",
    "\u00a0",
    "\u2009",
    "\u3000",
    "\u202f",
    "\t",
    "\u200b",
    "\u2060",
    "\ufeff",
    "\u00ad",
)
CONTROLS = ("\x00", "\x01", "\x07", "\x1b", "\x7f", "\x85", "\u200e", "\u200f", "\u202e", "\u2066", "\ufffd")
MARKS = ("\u0301", "\u0308", "\u0323", "\u20dd", "\ufe0f", "\u0483")
SIGNS = (
    "▁",
    "▁▁",
    "<",
    ">",
    ">>",
    "<<",
    "<<>>",
    "&amp;",
    "\\n",
    "''",
    "„“”‚‘’«»",
    "…",
    "––—",
    "@@",
    "__",
    "http://x.y/z?a=b&c",
)
CODE_POINTS = (*range(0x20, 0xD800), *range(0xE000, 0x11000))


def odd_lines(sentences: Sequence[str], count: int, seed: int) -> list[str]:
    """Sentences with things put in, taken out and torn; the same ones for the same seed."""
    rng = random.Random(seed)  # noqa: S311 -- not for secrets
    return [_odd_line(sentences, rng) for _ in range(count)]


def _odd_line(sentences: Sequence[str], rng: random.Random) -> str:
    line = rng.choice(sentences)
    for _ in range(rng.randint(1, 4)):
        line = _worsen(line, sentences, rng)
    return line


def _worsen(line: str, sentences: Sequence[str], rng: random.Random) -> str:
    place = rng.randint(0, len(line))
    before, after = line[:place], line[place:]
    script = rng.choice(SCRIPTS)
    foreign = "".join(rng.choice(script) for _ in range(rng.randint(1, 12)))
    return rng.choice(
        (
            before + foreign + after,
            f"{before} {foreign} {after}",
            before + rng.choice(SPACES) + after,
            rng.choice(SPACES) + line + rng.choice(SPACES),
            before + rng.choice(CONTROLS) + after,
            before + rng.choice(MARKS) * rng.randint(1, 3) + after,
            before + rng.choice(SIGNS) + after,
            line.replace(" ", rng.choice(SPACES)),
            line.upper(),
            line + " " + rng.choice(sentences),
            before + rng.choice("aoxé日😀") * rng.randint(20, 300) + after,
            line.replace(" ", ""),
            after,
            chr(rng.choice(CODE_POINTS)) + line,
        )
    )
