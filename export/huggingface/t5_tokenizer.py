"""Tokenizer of T5's family: one SentencePiece model with its own ids, `<extra_id_0>` and the like after them.

What a model is to do is in its input: MADLAD-400 has a token such as `<2de>` before the text, T5 a sentence
such as `translate English to German:`, which config.json has in `task_specific_params`. Folders saved by
`transformers` 5 have no SentencePiece model: it is rebuilt from tokenizer.json.
"""

import re
import reprlib
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import sentencepiece

from export.huggingface.configuration import HuggingFaceShape
from export.huggingface.fast import FAST_FILE, read_fast
from export.huggingface.fields import ConfigFields
from export.huggingface.files import CONFIG_FILE, TOKENIZER_CONFIG_FILE, JsonFiles
from export.huggingface.sentencepiece_rebuild import rebuild_model
from export.huggingface.vocabularies import (
    LanguageTokens,
    Vocabularies,
    check_ids,
    make_tokenizer,
    read_added_tokens,
    read_special_tokens,
    write_scratch,
)
from export.original import open_sentencepiece

MODEL = "spiece.model"
CLASSES = ("T5Tokenizer", "MT5Tokenizer")
SPECIAL_TOKENS = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}
PROBES = ("a", "The house is small.", "12 Bäume")
"""Texts that must have the same pieces after a prefix as without one."""
SPACE = "\u2581"

_EXTRA = re.compile(r"<extra_id_\d+>")
_TAG = re.compile(f"{SPACE}?<2([a-z]{{2,3}}(?:_[A-Za-z]+)*)>")
_TASK = re.compile(r"translation_([a-z]{2,3})_to_([a-z]{2,3})")


def read_t5(
    settings: JsonFiles, shape: HuggingFaceShape, class_name: str, problems: list[str]
) -> Vocabularies | None:
    """Read the files of a class in `CLASSES`; return None and add problems if they are unusable."""
    fields = ConfigFields(settings.tokenizer, TOKENIZER_CONFIG_FILE, problems)
    if not fields.flag("add_prefix_space", default=True):
        problems.append(f"{TOKENIZER_CONFIG_FILE}: add_prefix_space false is not supported")
    path, rebuilt = settings.folder / MODEL, None
    if path.is_file() or not (settings.folder / FAST_FILE).is_file():
        name, ids = MODEL, _model_ids(settings, problems)
    else:
        name, ids, rebuilt = FAST_FILE, *_rebuilt_ids(settings.folder / FAST_FILE, problems)
    ids = check_ids(ids, shape.source_vocab_size, name, problems)
    special = read_special_tokens(fields, SPECIAL_TOKENS, {name: ids}, problems)
    eos_id = ids.get(special["eos_token"])
    if eos_id not in (None, shape.eos_id):
        problems.append(
            f"{CONFIG_FILE}: eos_token_id {shape.eos_id} is not {eos_id}, the id of {special['eos_token']!r}"
        )
    if problems or eos_id is None:
        return None
    scratch = None if rebuilt is None else write_scratch(MODEL, rebuilt)
    path = path if scratch is None else scratch / MODEL
    model = open_sentencepiece(path, problems)
    if model is None:
        return None
    tags = {match[1]: piece for piece in ids if (match := _TAG.fullmatch(piece))}
    tokenizer = make_tokenizer(
        path,
        ids,
        size=shape.source_vocab_size,
        textless={*special.values(), *tags.values(), *filter(_EXTRA.fullmatch, ids)},
        unknown=model.id_to_piece(model.unk_id()),
        unk_id=ids[special["unk_token"]],
    )
    prefixes = {ids[tag]: _tag_ids(model, ids, tag) for tag in tags.values()}
    tasks = dict(_read_tasks(settings.config, model, ids, problems))
    if problems and scratch is not None:
        shutil.rmtree(scratch)
    return Vocabularies(
        tokenizer_class=class_name,
        source=tokenizer,
        target=tokenizer,
        unk_id=ids[special["unk_token"]],
        languages=LanguageTokens(
            {code: ids[tag] for code, tag in tags.items()},
            eos_id,
            source_code="none",
            target_code="source",
            prefixes=prefixes,
            tasks={} if tags else tasks,
        ),
        scratch=scratch,
    )


def _model_ids(settings: JsonFiles, problems: list[str]) -> dict[str, int]:
    """Return the ids of a SentencePiece model's pieces, and of the tokens after them."""
    model = open_sentencepiece(settings.folder / MODEL, problems)
    if model is None:
        return {}
    ids = {model.id_to_piece(index): index for index in range(model.vocab_size())}
    for token, index in read_added_tokens(settings, problems).items():
        if ids.setdefault(token, index) != index or (
            index < len(model) and model.id_to_piece(index) != token
        ):
            problems.append(f"added token {token!r} has id {index}, which is another piece's in {MODEL}")
    return ids


def _rebuilt_ids(path: Path, problems: list[str]) -> tuple[dict[str, int], bytes | None]:
    """Return the ids of tokenizer.json, and a SentencePiece model that segments like it."""
    fast = read_fast(path, problems)
    special = frozenset() if fast is None else fast.special | set(SPECIAL_TOKENS.values())
    encoded = None if fast is None else rebuild_model(fast, special, problems)
    if fast is None or encoded is None:
        return {}, None
    return dict(fast.ids), encoded


def _tag_ids(
    model: sentencepiece.SentencePieceProcessor, ids: Mapping[str, int], tag: str
) -> tuple[int, ...]:
    """Return the ids that a tag before a text becomes: itself, perhaps after a piece for a space."""
    found = _prefix_pieces(model, tag.removeprefix(SPACE))
    if found is None or tag not in found or not all(piece in ids for piece in found):
        return (ids[tag],)
    return tuple(ids[piece] for piece in found)


def _read_tasks(
    config: Mapping[str, Any],
    model: sentencepiece.SentencePieceProcessor,
    ids: Mapping[str, int],
    problems: list[str],
) -> Iterator[tuple[tuple[str, str], tuple[int, ...]]]:
    """Yield the pairs of languages that `task_specific_params` names, and the ids before a source."""
    params = config.get("task_specific_params")
    for name, task in params.items() if isinstance(params, dict) else ():
        pair = _TASK.fullmatch(name)
        if pair is None:
            continue
        where = f"{CONFIG_FILE}: task_specific_params.{name}"
        prefix = task.get("prefix", "") if isinstance(task, dict) else None
        if not isinstance(prefix, str) or prefix != prefix.strip() + " " * bool(prefix):
            problems.append(f"{where}: prefix {reprlib.repr(prefix)} is not a text that ends with a space")
            continue
        pieces = _prefix_pieces(model, prefix.strip()) if prefix else ()
        if pieces is None or not all(piece in ids for piece in pieces):
            problems.append(f"{where}: prefix {prefix!r} does not have the same pieces before every text")
            continue
        yield (pair[1], pair[2]), tuple(ids[piece] for piece in pieces)


def _prefix_pieces(model: sentencepiece.SentencePieceProcessor, prefix: str) -> tuple[str, ...] | None:
    """Return the pieces of a prefix before any text; None if they depend on the text."""
    found: set[tuple[str, ...]] = set()
    for probe in PROBES:
        alone = model.encode(probe, out_type=str)
        both = model.encode(f"{prefix} {probe}", out_type=str)
        if both[-len(alone) :] != alone:
            return None
        found.add(tuple(both[: -len(alone)]))
    return found.pop() if len(found) == 1 else None
