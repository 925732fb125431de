"""What all tokenizers of a Hugging Face folder come to: SentencePiece models, ids, and ids of languages."""

import re
import reprlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import sentencepiece

from export.huggingface.files import TOKENIZER_CONFIG_FILE, Settings, read_object
from export.original import TokenizerSource

ADDED_FILE = "added_tokens.json"
"""Of older releases."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """How text becomes ids, and which ids stand for languages."""

    tokenizer_class: str
    source: TokenizerSource
    target: TokenizerSource
    unk_id: int
    eos_id: int
    """That ends a source."""
    languages: Mapping[str, int]
    """Ids by the model's own codes; empty where it is not told of languages."""
    source_code: Literal["none", "before", "after"]
    """Where the id of a source's language stands: in front of its pieces, or behind the end of sentence."""
    target_code: Literal["source", "start", "forced"]
    """Where the id of the target's stands: in front of the source, first in the target, or second."""
    drops_regions: bool = False
    """Codes of languages have a region each that says nothing of the language (`de_DE`)."""
    scratch: Path | None = None
    """A folder made for a SentencePiece model that the files did not have; to be removed after use."""


def open_model(path: Path, problems: list[str]) -> sentencepiece.SentencePieceProcessor | None:
    """A SentencePiece model; None, with a problem noted, where it is missing or damaged."""
    if not path.is_file():
        problems.append(f"{path.name} is missing")
        return None
    try:
        return sentencepiece.SentencePieceProcessor(model_file=str(path))
    except (RuntimeError, OSError) as error:
        problems.append(f"{path.name} is not a SentencePiece model: {error}")
        return None


def list_pieces(
    ids: Mapping[str, int], *, size: int, textless: Iterable[str], unknown: str, unk_id: int
) -> tuple[str, ...]:
    """Pieces in order of their ids, as a bundle keeps them.

    Args:
        ids: of every piece.
        size: of the model's vocabulary; ids that no piece has stand for no text.
        textless: pieces that stand for no text.
        unknown: SentencePiece's own name for what it does not know.
        unk_id: the id of that.
    """
    pieces = [""] * size
    left_out = {*textless, unknown}
    for piece, index in ids.items():
        if piece not in left_out and _SURROGATE.search(piece) is None:
            pieces[index] = piece
    pieces[unk_id] = unknown
    return tuple(pieces)


def check_ids(ids: Mapping[str, object], size: int, name: str, problems: list[str]) -> dict[str, int]:
    """A vocabulary's ids, if they are ids: whole numbers below `size`, no two the same."""
    sound = {piece: index for piece, index in ids.items() if type(index) is int and 0 <= index < size}
    if len(sound) < len(ids):
        wrong = next(piece for piece in ids if piece not in sound)
        problems.append(f"{name}: {wrong!r} has id {ids[wrong]!r} in a vocabulary of {size}")
    elif len(set(sound.values())) < len(sound):
        problems.append(f"{name}: several pieces have the same id")
    return sound


def added_tokens(settings: Settings, problems: list[str]) -> dict[str, int]:
    """Tokens that the settings give an id, whether or not the vocabulary has them too.

    One that is not special would be found in a text before SentencePiece sees it: that is a problem.
    """
    listed = settings.tokenizer.get("added_tokens_decoder") or {}
    found: dict[str, int] = {}
    for index, token in listed.items() if isinstance(listed, dict) else ():
        name = token.get("content") if isinstance(token, dict) else None
        if not isinstance(name, str) or not index.isdecimal():
            problems.append(f"{TOKENIZER_CONFIG_FILE}: added token {reprlib.repr(token)}")
        elif token.get("special") is not True:
            problems.append(
                f"{TOKENIZER_CONFIG_FILE}: added token {name!r} is matched before the text is cut"
            )
        else:
            found[name] = int(index)
    path = settings.folder / ADDED_FILE
    more = read_object(path, problems) if path.is_file() else {}
    return found | {name: index for name, index in more.items() if type(index) is int}


def check_added(settings: Settings, ids: Mapping[str, int], problems: list[str]) -> None:
    """Note what the settings add to a vocabulary that is whole without."""
    problems += [
        f"added token {name!r}, with id {index}"
        for name, index in added_tokens(settings, problems).items()
        if ids.get(name) != index
    ]
