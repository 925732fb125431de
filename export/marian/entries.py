"""Marian's vocabulary files: a piece and its id per line, in a subset of YAML, or JSON.

Lines are read as Marian writes them and as YAML defines them. A general YAML parser does not work: it reads
pieces such as `no`, `1_0` or `=` as other types than text, and breaks lines at U+2028, which is also a
piece.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

from export.bounded_files import read_bounded

MAX_VOCABULARY_BYTES = 64 * 2**20
MAX_LINE_LENGTH = 10_000
Entry = tuple[str, int]

_KEY = r""""(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|(?![?][ \t])[^"'# \t].*?"""
_LINE = re.compile(rf"(?P<key>{_KEY})[ \t]*:[ \t]+(?P<id>[0-9]+)[ \t]*")
_LONE_KEY = re.compile(rf"\?[ \t]+(?P<key>{_KEY})[ \t]*")
_LONE_ID = re.compile(r":[ \t]+(?P<id>[0-9]+)[ \t]*")
_NO_ENTRY = re.compile(r"[ \t]*(#.*)?|---|\.\.\.")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)")
_ESCAPED = dict(zip('0abt\tnvfre "/\\N_LP', '\0\a\b\t\t\n\v\f\r\x1b "/\\\x85\xa0\u2028\u2029', strict=True))
"""YAML 1.2, section 5.7: characters after a backslash, and their meanings."""


def read_pieces(path: Path) -> tuple[str, ...]:
    """Return a vocabulary's pieces in order of their ids.

    Raises:
        ValueError: it cannot be read, or its ids are not 0, 1, 2 and so on, each for one piece.
    """
    text = read_bounded(path, MAX_VOCABULARY_BYTES).decode("utf-8-sig")
    entries = list(_json_entries(text) if text.lstrip(" \t\r\n").startswith("{") else _yaml_entries(text))
    return _order_by_id(entries)


def _order_by_id(entries: list[Entry]) -> tuple[str, ...]:
    ids: dict[str, int] = {}
    for piece, index in entries:
        if piece in ids:
            raise ValueError(f"has {piece!r} twice")
        ids[piece] = index
    by_id = {index: piece for piece, index in entries}
    if len(by_id) < len(entries):
        raise ValueError("has pieces with the same id")
    if missing := [index for index in range(len(by_id)) if index not in by_id]:
        raise ValueError(f"has {len(by_id)} pieces but none with id {missing[0]}")
    return tuple(by_id[index] for index in range(len(by_id)))


def _json_entries(text: str) -> list[Entry]:
    def keep_all(pairs: list[tuple[str, object]]) -> list[tuple[str, object]]:
        return pairs

    try:
        pairs = json.loads(text, object_pairs_hook=keep_all)
    except RecursionError as error:
        raise ValueError("is nested too deeply") from error
    for piece, index in pairs:
        if type(index) is not int:
            raise ValueError(f"has no id for {piece!r}")
        _check_text(piece)
    return [(piece, int(index)) for piece, index in pairs]


def _yaml_entries(text: str) -> Iterator[Entry]:
    key: str | None = None
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) > MAX_LINE_LENGTH:
            raise ValueError(f"line {number} has more than {MAX_LINE_LENGTH} characters")
        line_text = line.removesuffix("\r")
        if key is not None:
            if (found := _LONE_ID.fullmatch(line_text)) is None:
                raise ValueError(f"line {number} is not the id of the preceding piece")
            yield key, int(found["id"])
            key = None
        elif (found := _LINE.fullmatch(line_text)) is not None:
            yield _unquote(found["key"], number), int(found["id"])
        elif (found := _LONE_KEY.fullmatch(line_text)) is not None:
            key = _unquote(found["key"], number)
        elif _NO_ENTRY.fullmatch(line_text) is None:
            raise ValueError(f"line {number} is not a piece and its id")
    if key is not None:
        raise ValueError("ends with a piece that has no id")


def _unquote(key: str, line: int) -> str:
    """Return a piece without the quotes and escapes of YAML."""
    if key.startswith("'"):
        piece = key[1:-1].replace("''", "'")
    elif key.startswith('"'):
        piece = _ESCAPE.sub(lambda escape: _unescape(escape[1], line), key[1:-1])
    else:
        piece = key
    _check_text(piece)
    return piece


def _unescape(escape: str, line: int) -> str:
    if len(escape) > 1:
        code = int(escape[1:], 16)
        if code < 0x110000:  # noqa: PLR2004 -- the end of Unicode
            return chr(code)
    elif escape in _ESCAPED:
        return _ESCAPED[escape]
    raise ValueError(f"line {line} has an invalid YAML escape: \\{escape}")


def _check_text(piece: str) -> None:
    if any(0xD800 <= ord(character) < 0xE000 for character in piece):  # noqa: PLR2004 -- surrogates
        raise ValueError(f"has a lone surrogate in {piece!r}")
