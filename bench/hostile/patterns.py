"""Patterns of hostile content, and request bodies: tests send them small, loads send them large.

In a pattern, the text between ⟨ and ⟩ is repeated; № in it is the number of the repetition.
"""

import re
from collections.abc import Mapping, Sequence

JSON, FORM = "application/json", "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data; boundary=hostile"
_DISPOSITION = "Content-Disposition: form-data"
_PART = f'--hostile\r\n{_DISPOSITION}; name="q"\r\n'
_END = "--hostile--\r\n"

Body = tuple[str, str]
"""Content type and pattern in Latin-1."""


def repeat(pattern: str, n: int) -> str:
    """Return the content with `n` repetitions."""

    def repeated(part: re.Match[str]) -> str:
        return "".join(part[1].replace("№", str(i)) for i in range(n)) if "№" in part[1] else part[1] * n

    return re.sub("⟨(.*?)⟩", repeated, pattern, flags=re.DOTALL)


def _bodies(content_type: str, *patterns: str) -> list[Body]:
    return [(content_type, pattern) for pattern in patterns]


BODIES: Mapping[str, Sequence[Body]] = {
    "not JSON": _bodies(
        JSON,
        "{",
        '{"text": "a"',
        '{"q": nan}',
        "\xff\xfe\xfd",
        '{"q": "\xe4"}',
        '{"text": "\xff\xfe"}',
        '{"q": "a\nb"}',
        "⟨[⟩",
        '⟨{"q":⟩',
        '{"q": ⟨9⟩}',
        '{"text": "a", "beam_size": ⟨9⟩}',
        '{"q": "a", "q": "b"}',
    ),
    "no request": _bodies(
        JSON, "[1]", "null", '"q"', "NaN", '{"q": "\\ud800"}', '{"q": "x\\udc00y"}', '{⟨"x№": 1, ⟩"y": 1}'
    ),
    "no number": _bodies(
        JSON,
        *(
            f'{{"text": "a", "{name}": {number}}}'
            for name in ("length_penalty", "beam_size")
            for number in ("NaN", "Infinity", "-Infinity", "1e999", f"1{'0' * 400}", f"-{'9' * 4000}")
        ),
    ),
    "too large": _bodies(JSON, '{"text": "⟨aaaaaaaaaaaaaaaa⟩"}', '{"text": [⟨"aaaaaaaaaaaa", ⟩"a"]}'),
    "no JSON": [
        *_bodies(
            FORM,
            "q=%ff",
            "q=\xff",
            "q=%ed%a0%80",
            "q=a&q=b&source=de&target=en&text=a&target_lang=EN&target=en&target_lang=EN",
            "⟨a№=b&⟩q=a",
        ),
        *_bodies(
            MULTIPART,
            "",
            "no boundary",
            f"{_PART}\r\na",
            f"{_PART}\r\n\xff\r\n{_END}",
            f"{_PART}Content-Transfer-Encoding: x\r\n\r\na\r\n{_END}",
            f"--hostile\r\n{_DISPOSITION}\r\n\r\na\r\n{_END}",
            f"⟨{_PART}\r\na\r\n⟩",
            "--hostile\r\n⟨X-A: b\r\n⟩",
            "⟨--⟩",
        ),
        ("multipart/form-data", "x"),
    ],
    "unsupported": [
        ("", "q=a"),
        ("text/plain", "q=a"),
        ("application/xml", "<q/>"),
        (";", "q=a"),
        (f"{FORM}; charset=iso-8859-1", "q=a"),
    ],
    "not UTF-8": [(f"{JSON}; charset=utf-16", "{}"), (f"{JSON}; charset*=x'y'z", "{}")],
}
"""Bodies by the reason why they are rejected."""
