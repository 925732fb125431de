"""Tokenizers with the ids of fairseq: NLLB, MBart and MBart-50.

Ids: `<s>`, `<pad>`, `</s>`, `<unk>`, then SentencePiece's own pieces, then languages, then `<mask>`. What
follows the pieces may differ; tokenizer.json or tokenizer_config.json then says so. Folders saved by
`transformers` 5 have no SentencePiece model: it is rebuilt from tokenizer.json.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from export.huggingface.codes import MBART_25, MBART_50, NLLB_200
from export.huggingface.configuration import HuggingFaceShape
from export.huggingface.fast import FAST_FILE, FastTokenizer, read_fast
from export.huggingface.fields import ConfigFields
from export.huggingface.files import TOKENIZER_CONFIG_FILE, JsonFiles
from export.huggingface.sentencepiece_rebuild import UNKNOWN, rebuild_model
from export.huggingface.vocabularies import (
    LanguageTokens,
    Vocabularies,
    check_ids,
    make_tokenizer,
    read_added_tokens,
    write_scratch,
)
from export.original import open_sentencepiece

MODEL = "sentencepiece.bpe.model"
FIRST = {"<s>": 0, "<pad>": 1, "</s>": 2, UNKNOWN: 3}
MASK = "<mask>"
OWN_SPECIAL_IDS = (0, 1, 2)
"""Ids of unknown, begin and end in fairseq's SentencePiece models."""


@dataclass(frozen=True, slots=True)
class LanguageConvention:
    """Rules by which one tokenizer class handles languages."""

    codes: tuple[str, ...]
    """Language codes in the order of their ids."""
    pattern: re.Pattern[str]
    """Pattern of a language code; a model may have other codes than those listed."""
    source_code: Literal["before", "after"]
    target_code: Literal["start", "forced"]
    drops_regions: bool


_REGIONAL = re.compile("[a-z]{2,3}_[A-Z]{2}")
CONVENTIONS: Mapping[str, LanguageConvention] = {
    "NllbTokenizer": LanguageConvention(
        NLLB_200, re.compile("[a-z]{3}_[A-Z][a-z]{3}"), "before", "forced", drops_regions=False
    ),
    "MBartTokenizer": LanguageConvention(MBART_25, _REGIONAL, "after", "start", drops_regions=True),
    "MBart50Tokenizer": LanguageConvention(MBART_50, _REGIONAL, "before", "forced", drops_regions=True),
}


def read_fairseq(
    settings: JsonFiles, shape: HuggingFaceShape, class_name: str, problems: list[str]
) -> Vocabularies | None:
    """Read the files of a class in `CONVENTIONS`; return None and add problems if they are unusable."""
    convention, size = CONVENTIONS[class_name], shape.source_vocab_size
    is_legacy = ConfigFields(settings.tokenizer, TOKENIZER_CONFIG_FILE, problems).flag(
        "legacy_behaviour", default=False
    )
    path, fast_path = settings.folder / MODEL, settings.folder / FAST_FILE
    fast = read_fast(fast_path, problems) if fast_path.is_file() else None
    if path.is_file() or not fast_path.is_file():
        ids = _model_ids(settings, convention, fast, problems)
    else:
        ids = dict(fast.ids) if fast is not None else {}
    ids = check_ids(ids, size, FAST_FILE if fast is not None else MODEL, problems)
    problems += [
        f"{token} has id {ids.get(token)}, not {index}"
        for token, index in FIRST.items()
        if ids.get(token) != index
    ]
    languages = {token: index for token, index in ids.items() if convention.pattern.fullmatch(token)}
    if not languages:
        problems.append("no language tokens found")
    special = frozenset({*FIRST, MASK, *languages, *(fast.special if fast is not None else ())})
    rebuilt = None
    if fast is not None and not path.is_file():
        rebuilt = rebuild_model(fast, special, problems)
    if problems:
        return None
    scratch = None if rebuilt is None else write_scratch(MODEL, rebuilt)
    path = path if scratch is None else scratch / MODEL
    pieces = make_tokenizer(path, ids, size=size, textless=special, unknown=UNKNOWN, unk_id=FIRST[UNKNOWN])
    return Vocabularies(
        tokenizer_class=class_name,
        source=pieces,
        target=pieces,
        unk_id=FIRST[UNKNOWN],
        languages=LanguageTokens(
            languages,
            FIRST["</s>"],
            "after" if is_legacy and class_name == "NllbTokenizer" else convention.source_code,
            convention.target_code,
            drops_regions=convention.drops_regions,
        ),
        scratch=scratch,
    )


def _model_ids(
    settings: JsonFiles, convention: LanguageConvention, fast: FastTokenizer | None, problems: list[str]
) -> dict[str, int]:
    """Return the ids of a SentencePiece model's pieces, and of the tokens after them."""
    model = open_sentencepiece(settings.folder / MODEL, problems)
    if model is None:
        return {}
    if (model.unk_id(), model.bos_id(), model.eos_id()) != OWN_SPECIAL_IDS or model.id_to_piece(0) != UNKNOWN:
        problems.append(f"{MODEL} does not begin with {UNKNOWN}, <s> and </s>")
        return {}
    learned = range(len(OWN_SPECIAL_IDS), model.vocab_size())
    ids = FIRST | {model.id_to_piece(index): index + 1 for index in learned}
    others = fast.ids if fast is not None else read_added_tokens(settings, problems)
    differing = [token for token, index in ids.items() if fast is not None and others.get(token) != index]
    if differing:
        token = differing[0]
        problems.append(f"{token!r} has id {ids[token]} in {MODEL}, but {others.get(token)} in {FAST_FILE}")
    added_ids = {token: index for token, index in others.items() if token not in ids}
    if not any(convention.pattern.fullmatch(token) for token in added_ids):
        added_ids = {token: len(ids) + index for index, token in enumerate((*convention.codes, MASK))}
    return ids | added_ids
