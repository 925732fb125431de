"""Common result of all tokenizers of Hugging Face folders: SentencePiece models, ids, and language ids."""

import re
import reprlib
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from export.huggingface.fields import ConfigFields
from export.huggingface.files import TOKENIZER_CONFIG_FILE, JsonFiles, read_object
from export.original import TokenizerSource

ADDED_FILE = "added_tokens.json"
"""File of older releases."""

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class LanguageTokens:
    """Ids that represent languages, and where they are."""

    ids: Mapping[str, int]
    """Language ids by the model's own codes; empty if the model has none."""
    eos_id: int
    """Id that ends a source."""
    source_code: Literal["none", "before", "after"]
    """Position of the source language's id: before the source's pieces, or after the end of sentence."""
    target_code: Literal["source", "start", "forced"]
    """Position of the target language's id: before the source, first in the target, or second."""
    prefixes: Mapping[int, tuple[int, ...]] = field(default_factory=dict)
    """Ids before the source by the target language's id, where they are more than that."""
    tasks: Mapping[tuple[str, str], tuple[int, ...]] = field(default_factory=dict)
    """Ids before the source by its language and the target's, for a model without language ids."""
    drops_regions: bool = False
    """Whether each language code has a region that says nothing about the language (`de_DE`)."""


@dataclass(frozen=True, slots=True)
class Vocabularies:
    """Tokenizers, and ids that represent languages."""

    tokenizer_class: str
    source: TokenizerSource
    target: TokenizerSource
    unk_id: int
    languages: LanguageTokens
    scratch: Path | None = None
    """Temporary folder with a rebuilt SentencePiece model; to be removed after use."""


def write_scratch(name: str, model: bytes) -> Path:
    """Write a rebuilt SentencePiece model to a temporary folder of its own, and return that."""
    scratch = Path(tempfile.mkdtemp(prefix="dragoman-"))
    (scratch / name).write_bytes(model)
    return scratch


def make_tokenizer(
    model: Path, ids: Mapping[str, int], *, size: int, textless: Iterable[str], unknown: str, unk_id: int
) -> TokenizerSource:
    """Return a tokenizer with the pieces in order of their ids, as a bundle stores them.

    Args:
        model: SentencePiece model.
        ids: ids of all pieces.
        size: size of the model's vocabulary; ids without a piece represent no text.
        textless: pieces that represent no text.
        unknown: SentencePiece's own name of the unknown piece.
        unk_id: id of the unknown piece.
    """
    pieces = [""] * size
    left_out = {*textless, unknown}
    for piece, index in ids.items():
        if piece not in left_out and _SURROGATE.search(piece) is None:
            pieces[index] = piece
    pieces[unk_id] = unknown
    return TokenizerSource(model, tuple(pieces), normalises=False)


def read_special_tokens(
    fields: ConfigFields,
    defaults: Mapping[str, str],
    vocabularies: Mapping[str, Mapping[str, int]],
    problems: list[str],
) -> dict[str, str]:
    """Return the special tokens by the name of their field in tokenizer_config.json.

    Args:
        fields: tokenizer_config.json.
        defaults: special tokens that the file need not name.
        vocabularies: by file name; each must have the unknown and the end-of-sentence token.
        problems: problems are added here.
    """
    special = {field: fields.text(field) or default for field, default in defaults.items()}
    problems += [
        f"{name} does not have {special[field]!r}, the {field}"
        for name, ids in vocabularies.items()
        for field in ("unk_token", "eos_token")
        if special[field] not in ids
    ]
    return special


def check_ids(ids: Mapping[str, object], size: int, name: str, problems: list[str]) -> dict[str, int]:
    """Return the valid ids of a vocabulary; add a problem unless all are below `size` and distinct."""
    valid_ids = {piece: index for piece, index in ids.items() if type(index) is int and 0 <= index < size}
    if len(valid_ids) < len(ids):
        wrong = next(piece for piece in ids if piece not in valid_ids)
        problems.append(f"{name}: {wrong!r} has id {ids[wrong]!r}, which is not in the vocabulary of {size}")
    elif len(set(valid_ids.values())) < len(valid_ids):
        problems.append(f"{name}: several pieces have the same id")
    return valid_ids


def read_added_tokens(settings: JsonFiles, problems: list[str]) -> dict[str, int]:
    """Return the tokens to which the settings give an id, whether or not the vocabulary has them too.

    A token that is not special is a problem: it would be matched before SentencePiece reads the text.
    """
    listed = settings.tokenizer.get("added_tokens_decoder") or {}
    found: dict[str, int] = {}
    for index, token in listed.items() if isinstance(listed, dict) else ():
        name = token.get("content") if isinstance(token, dict) else None
        if not isinstance(name, str) or not index.isdecimal():
            problems.append(f"{TOKENIZER_CONFIG_FILE}: added token {reprlib.repr(token)} is not valid")
        elif token.get("special") is not True:
            problems.append(
                f"{TOKENIZER_CONFIG_FILE}: added token {name!r} is not special, which is not supported"
            )
        else:
            found[name] = int(index)
    path = settings.folder / ADDED_FILE
    more = read_object(path, problems) if path.is_file() else {}
    return found | {name: index for name, index in more.items() if type(index) is int}


def check_added_tokens(settings: JsonFiles, ids: Mapping[str, int], problems: list[str]) -> None:
    """Add problems for tokens that the settings add to a vocabulary that is complete without them."""
    problems += [
        f"added token {name!r} with id {index} is not in the vocabulary"
        for name, index in read_added_tokens(settings, problems).items()
        if ids.get(name) != index
    ]
