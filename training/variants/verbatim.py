"""Things that a translation copies: placeholders, addresses, code, emoji.

All of them are random, including names of hosts and variables, so that a model learns to copy and not a list.
"""

import string
from collections.abc import Sequence
from random import Random
from uuid import UUID

from training.variants.drawing import Maker, Weighted, pick, word_list, words
from training.variants.formats import repeated_digits

_WORDS = word_list("identifiers")
_ONSETS = words("b bl br ch d dr f fl g gr h j k kl l m n p pl r s sch sp st t tr v w z")
_VOWELS = words("a e i o u ei au ie ai oo")
_CODAS = ("", "", "", *words("n r l s t k m x nd rt ng ck"))
_DOMAINS = words("com com org net de de eu io dev info ch at co.uk app example test")
_ENDINGS = words("txt pdf md json yaml xml csv html py rs cpp log conf zip tar.gz png jpg mp3 docx sh exe po")
_TAGS = words("b i em strong u code span a small mark")
_EMOJI_RANGES = (
    (0x1F600, 0x1F644),
    (0x1F300, 0x1F320),
    (0x1F400, 0x1F43E),
    (0x1F442, 0x1F4F7),
    (0x1F680, 0x1F6C5),
    (0x1F910, 0x1F91E),
)
"""First and last code points of ranges without gaps, in Unicode since 9.0."""
_OTHER_EMOJI = word_list("emoji")
_SKIN = ("", "", "", "\U0001f3fb", "\U0001f3fd", "\U0001f3ff")
_HANDS = "👍👋🙏💪👏✊"


def made_up_word(rng: Random) -> str:
    """Make a word of one to three syllables."""
    syllables = rng.choice((1, 2, 2, 2, 3))
    return "".join(rng.choice(_ONSETS) + rng.choice(_VOWELS) + rng.choice(_CODAS) for _ in range(syllables))


def word(rng: Random) -> str:
    """Make a lower-case word, for variables, hosts or files."""
    return rng.choice(_WORDS) if rng.random() < 1 / 2 else made_up_word(rng)


def identifier(rng: Random) -> str:
    """Make the name of a variable."""
    first, second = word(rng), word(rng)
    camel = first + second.capitalize()
    return rng.choice(
        (first, first, first, first, f"{first}_{second}", camel, camel.capitalize(), first.upper())
    )


def brace_placeholder(rng: Random) -> str:
    kinds: Weighted[Maker[str]] = ((4, identifier), (2, _small_number), (1, _attribute))
    shapes = ((8, "{%s}"), (3, "{{%s}}"), (1, "{{ %s }}"), (1, "%%{%s}"), (1, "${%s}"), (0.5, "#{%s}"))
    return pick(rng, shapes) % pick(rng, kinds)(rng)


def percent_placeholder(rng: Random) -> str:
    letter = rng.choice("ssssdddiufx")
    plain = pick(
        rng, ((6, letter), (2, f"{rng.randint(1, 9)}${letter}"), (1, ".2f"), (1, f"0{rng.randint(2, 8)}d"))
    )
    return pick(
        rng,
        ((6, f"%{plain}"), (3, f"%({identifier(rng)}){letter}"), (1, f"%{rng.randint(1, 9)}"), (0.5, "%@")),
    )


def variable(rng: Random) -> str:
    name = identifier(rng)
    return rng.choice(
        (f"${name.upper()}", f"${name.upper()}", f"${name}", f":{name}", f"@@{name}@@", f"__{name}__")
    )


def empty_tag(rng: Random) -> str:
    number = rng.randint(1, 20)
    return rng.choice(
        (
            f'<x id="{number}"/>',
            f'<x id="{number}"/>',
            f'<ph id="{number}"/>',
            "<br/>",
            "<br>",
            f"<{number}/>",
            f"[[{number}]]",
        )
    )


def around(text: str, rng: Random) -> str:
    """Put the text between a pair of tags or marks."""
    tag, number = rng.choice(_TAGS), rng.randint(1, 20)
    before, behind = pick(
        rng,
        (
            (6, (f"<{tag}>", f"</{tag}>")),
            (2, (f'<g id="{number}">', "</g>")),
            (1, (f"<{number}>", f"</{number}>")),
            (2, (f'<a href="{url(rng)}">', "</a>")),
            (1, (f'<span class="{word(rng)}">', "</span>")),
            (2, ("**", "**")),
            (1, ("`", "`")),
            (1, ("__", "__")),
        ),
    )
    return f"{before}{text}{behind}"


def mention(rng: Random) -> str:
    return f"@{word(rng)}{rng.choice(('', '', '_' + word(rng), str(rng.randint(1, 999))))}"


def hash_tag(rng: Random) -> str:
    first, second = word(rng), word(rng)
    number = str(rng.randint(1, 9999))
    return f"#{rng.choice((first, first.capitalize(), first + second.capitalize(), number))}"


def host(rng: Random) -> str:
    name = rng.choice((word(rng), made_up_word(rng), f"{made_up_word(rng)}-{word(rng)}"))
    return f"{rng.choice(('', '', 'www.', word(rng) + '.'))}{name}.{rng.choice(_DOMAINS)}"


def url(rng: Random) -> str:
    path = "".join(f"/{word(rng)}" for _ in range(rng.choice((0, 1, 1, 2, 3))))
    ending = rng.choice(("", "", "", "/", f".{rng.choice(_ENDINGS)}")) if path else rng.choice(("", "/"))
    query = pick(
        rng,
        (
            (6, ""),
            (1, f"?{word(rng)}={made_up_word(rng)}"),
            (1, f"?{word(rng)}={rng.randint(1, 9999)}&{word(rng)}={word(rng)}"),
            (1, f"#{word(rng)}"),
        ),
    )
    start = pick(rng, ((6, "https://"), (2, "http://"), (1, "www."), (0.3, "ftp://")))
    bare = host(rng).removeprefix("www.")
    port = f":{rng.randint(80, 9999)}" if rng.random() < 1 / 12 else ""
    return f"{start}{bare}{port}{path}{ending}{query if path else ''}"


def email(rng: Random) -> str:
    user = rng.choice(
        (word(rng), f"{made_up_word(rng)}.{made_up_word(rng)}", f"{made_up_word(rng)}{rng.randint(1, 99)}")
    )
    return f"{user}@{host(rng).removeprefix('www.')}"


def file_path(rng: Random) -> str:
    folders = [word(rng) for _ in range(rng.choice((1, 2, 2, 3)))]
    name = f"{word(rng)}.{rng.choice(_ENDINGS)}"
    shape = rng.randrange(5)
    if shape == 0:
        return name
    if shape == 1:
        return "\\".join([f"{rng.choice('CDE')}:", *(folder.capitalize() for folder in folders), name])
    start = ("/", "/", "~/", "./", "../")[rng.randrange(5)]
    return start + "/".join([*folders, name])


def version(rng: Random) -> str:
    numbers = ".".join(str(rng.randint(0, 20)) for _ in range(rng.choice((2, 3, 3))))
    return f"{rng.choice(('', 'v', 'v'))}{numbers}{rng.choice(('', '', '', '-rc1', '-beta', 'b2'))}"


def ip_address(rng: Random) -> str:
    if rng.random() < 1 / 5:
        return ":".join(f"{rng.randrange(1 << 16):x}" for _ in range(8))
    address = ".".join(str(rng.randint(1, 254)) for _ in range(4))
    return address + rng.choice(("", "", "", f":{rng.randint(80, 9999)}", "/24"))


def hash_code(rng: Random) -> str:
    width = rng.choice((7, 8, 12, 16, 32, 40, 64, 64))
    return "".join(rng.choice("0123456789abcdef") for _ in range(width))


def account(rng: Random) -> str:
    """Make something like an IBAN, an order number or a serial number."""
    digits = _digits(rng, 20)
    letters = _letters(rng, 2)
    return pick(
        rng,
        (
            (1, f"{letters}{digits[: rng.choice((18, 20))]}"),
            (1, f"{letters}{digits[:2]} {digits[2:6]} {digits[6:10]} {digits[10:14]} {digits[14:18]}"),
            (2, f"{_letters(rng, 3)}-{digits[:4]}"),
            (1, f"{letters}{digits[:6]}"),
            (1, f"{digits[:4]}-{letters}-{digits[4:6]}"),
            (1, f"#{digits[:5]}"),
        ),
    )


def uuid(rng: Random) -> str:
    text = str(UUID(int=rng.getrandbits(128), version=4))
    return text.upper() if rng.random() < 1 / 5 else text


def mac_address(rng: Random) -> str:
    return rng.choice(":-").join(f"{rng.randrange(256):02x}" for _ in range(6))


def coordinates(rng: Random) -> str:
    """Make one coordinate with a decimal point, or a pair."""
    places = rng.choice((4, 5, 6, 6, 7))
    latitude, longitude = rng.uniform(-90, 90), rng.uniform(-180, 180)
    return rng.choice((f"{latitude:.{places}f}", f"{latitude:.{places}f}, {longitude:.{places}f}"))


def long_number(rng: Random) -> str:
    """Make a number of 3 to 20 digits without separators; half of them repeat digits."""
    count = rng.choice((3, 4, 5, 5, 6, 6, 7, 8, 9, 10, 12, 16, 20))
    rest = repeated_digits(rng, count - 1) if rng.random() < 1 / 2 else _digits(rng, count - 1)
    return rng.choice("123456789") + rest


def code(rng: Random) -> str:
    """Make a token of letters and digits in turn, such as a part number or a key of a licence."""
    alphabet = rng.choice((string.ascii_uppercase, string.ascii_uppercase, string.ascii_lowercase))
    parts = [
        "".join(rng.choices(rng.choice((alphabet, string.digits)), k=rng.choice((1, 2, 3, 4))))
        for _ in range(rng.choice((2, 3, 4, 5)))
    ]
    return rng.choice(("", "", "-", "-", "/", "_")).join(parts)


def user_name(rng: Random) -> str:
    """Make the name of a user as forums write it."""
    ending = rng.choice(("", f"_{word(rng)}", str(rng.randint(1, 99))))
    return f"{rng.choice(('u/', 'r/', '@'))}{word(rng)}{ending}"


def function(rng: Random) -> str:
    name, other = identifier(rng), word(rng)
    return rng.choice(
        (f"{name}()", f"{name}({other})", f"{other}.{name}()", f"{other}::{name}", f"--{other}", f"{name}=0")
    )


def phone(rng: Random) -> str:
    country = rng.choice((49, 43, 41, 44, 1))
    return f"+{country} {rng.randint(20, 999)} {_digits(rng, rng.choice((5, 6, 7)))}"


def emoji(rng: Random) -> str:
    """Make one emoji, or rarely two or three."""
    return "".join(_one_emoji(rng) for _ in range(rng.choice((1, 1, 1, 1, 2, 3))))


def _one_emoji(rng: Random) -> str:
    first, last = rng.choice(_EMOJI_RANGES[:1] * 4 + _EMOJI_RANGES[1:])
    return pick(
        rng,
        (
            (7, chr(rng.randint(first, last))),
            (2, rng.choice(_OTHER_EMOJI)),
            (1, rng.choice(_HANDS) + rng.choice(_SKIN)),
        ),
    )


def _attribute(rng: Random) -> str:
    return f"{word(rng)}.{word(rng)}"


def _small_number(rng: Random) -> str:
    return str(rng.randint(0, 12))


def _digits(rng: Random, count: int) -> str:
    return "".join(rng.choices(string.digits, k=count))


def _letters(rng: Random, count: int) -> str:
    return "".join(rng.choices(string.ascii_uppercase, k=count))


_MAKERS: Sequence[tuple[Maker[str], float, float, float]] = (
    (brace_placeholder, 6, 6, 6),
    (percent_placeholder, 4, 4, 4),
    (variable, 2, 2, 2),
    (empty_tag, 2, 1, 2),
    (mention, 2, 0, 2),
    (hash_tag, 1, 0, 3),
    (url, 2, 0, 5),
    (email, 2, 0, 3),
    (file_path, 1.5, 0, 2),
    (version, 0, 1, 2),
    (ip_address, 0.5, 0, 1),
    (hash_code, 1, 1, 2),
    (account, 0.5, 1, 1),
    (uuid, 1, 0.5, 1),
    (mac_address, 0.5, 0.5, 0.5),
    (coordinates, 0, 2, 1),
    (long_number, 0, 6, 2),
    (code, 2, 1, 2),
    (user_name, 0.5, 0, 1),
    (function, 1.5, 0, 0),
    (phone, 0, 0, 1),
    (emoji, 0, 0, 8),
)
"""Each with its weight in place of a name, in place of a number, and before or after a sentence."""
KINDS = {maker.__name__: maker for maker, *_ in _MAKERS}
FOR_NAMES, FOR_NUMBERS, ADJACENT = (
    tuple((weights[use], maker) for maker, *weights in _MAKERS) for use in range(3)
)
ALONE: Weighted[Maker[str]] = tuple((1.0, maker) for maker in KINDS.values())
