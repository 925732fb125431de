"""Reader of tokenizer.json, which `transformers` 5 saves instead of a SentencePiece model."""

import reprlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.huggingface.files import read_object

FAST_FILE = "tokenizer.json"
ENTRY = 2
"""Length of an entry: a piece and its score."""


@dataclass(frozen=True, slots=True)
class FastTokenizer:
    """Contents of tokenizer.json."""

    ids: Mapping[str, int]
    """Ids of all tokens."""
    special: frozenset[str]
    """Tokens that represent no text."""
    model: Mapping[str, Any]
    """Model that splits words, as stored; the fields below are as stored, too."""
    normaliser: object
    splitter: object


def read_fast(path: Path, problems: list[str]) -> FastTokenizer | None:
    """Read tokenizer.json; return None and add problems if it is unusable."""
    found: list[str] = []
    content = read_object(path, found)
    model = content.get("model")
    if found or not isinstance(model, dict):
        problems += found or [f"{FAST_FILE} has no model"]
        return None
    ids = _read_ids(model.get("vocab"))
    if ids is None:
        found.append("the vocabulary has neither ids nor scores")
        ids = {}
    special = _read_added(content, ids, found)
    problems += [f"{FAST_FILE}: {problem}" for problem in found]
    if found:
        return None
    return FastTokenizer(ids, special, model, content.get("normalizer"), content.get("pre_tokenizer"))


def _read_ids(vocab: object) -> dict[str, int] | None:
    """Return ids by piece, as in BPE models, or by the order of pieces with scores; None if neither."""
    if isinstance(vocab, dict) and all(type(index) is int for index in vocab.values()):
        return dict(vocab)
    if not isinstance(vocab, list) or not all(
        isinstance(entry, list) and len(entry) == ENTRY for entry in vocab
    ):
        return None
    ids = {entry[0]: index for index, entry in enumerate(vocab) if isinstance(entry[0], str)}
    return ids if len(ids) == len(vocab) else None


def _read_added(content: Mapping[str, Any], ids: dict[str, int], problems: list[str]) -> frozenset[str]:
    """Return the special added tokens; reject others, which would be matched before the text is split."""
    special: set[str] = set()
    for token in content.get("added_tokens") or []:
        name, index = (token.get("content"), token.get("id")) if isinstance(token, dict) else (None, None)
        if not isinstance(name, str) or type(index) is not int or ids.setdefault(name, index) != index:
            problems.append(
                f"added token {reprlib.repr(token)} has no id, or a different id in the vocabulary"
            )
        elif token.get("special") is not True:
            problems.append(f"added token {name!r} is not special, which is not supported")
        else:
            special.add(name)
    return frozenset(special)
