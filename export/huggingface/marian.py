"""Tokenizer of OPUS-MT models: two SentencePiece models, and ids of their pieces in vocab.json."""

import re
from collections.abc import Mapping

from export.huggingface.configuration import HuggingFaceShape
from export.huggingface.fields import ConfigFields
from export.huggingface.files import TOKENIZER_CONFIG_FILE, JsonFiles, read_object
from export.huggingface.vocabularies import (
    Vocabularies,
    check_added_tokens,
    check_ids,
    make_tokenizer,
    read_special_tokens,
)
from export.original import open_sentencepiece

SOURCE_MODEL = "source.spm"
TARGET_MODEL = "target.spm"
VOCABULARY = "vocab.json"
TARGET_VOCABULARY = "target_vocab.json"
SPECIAL_TOKENS = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}

_CODE = re.compile(">>(.+)<<")


def read_marian(settings: JsonFiles, shape: HuggingFaceShape, problems: list[str]) -> Vocabularies | None:
    """Read `MarianTokenizer`'s files; return None and add problems if they are unusable.

    Codes of target languages, `>>deu<<`, are pieces of the source vocabulary.
    """
    fields = ConfigFields(settings.tokenizer, TOKENIZER_CONFIG_FILE, problems)
    is_separate = fields.flag("separate_vocabs", default=False)
    names = (VOCABULARY, TARGET_VOCABULARY if is_separate else VOCABULARY)
    sizes = (shape.source_vocab_size, shape.target_vocab_size)
    ids = [
        check_ids(read_object(settings.folder / name, problems), size, name, problems)
        for name, size in zip(names, sizes, strict=True)
    ]
    by_name = dict(zip(names, ids, strict=True))
    special = read_special_tokens(fields, SPECIAL_TOKENS, by_name, problems)
    check_added_tokens(settings, ids[0], problems)
    models = [open_sentencepiece(settings.folder / name, problems) for name in (SOURCE_MODEL, TARGET_MODEL)]
    if problems or models[0] is None or models[1] is None:
        return None
    codes = _codes(ids[0])
    textless = {*special.values(), *(f">>{code}<<" for code in codes)}
    source, target = (
        make_tokenizer(
            settings.folder / name,
            vocabulary,
            size=size,
            textless=textless,
            unknown=model.id_to_piece(model.unk_id()),
            unk_id=vocabulary[special["unk_token"]],
        )
        for name, model, vocabulary, size in zip(
            (SOURCE_MODEL, TARGET_MODEL), filter(None, models), ids, sizes, strict=True
        )
    )
    return Vocabularies(
        tokenizer_class="MarianTokenizer",
        source=source,
        target=target,
        unk_id=ids[0][special["unk_token"]],
        eos_id=ids[0][special["eos_token"]],
        languages=codes,
        source_code="none",
        target_code="source",
    )


def _codes(ids: Mapping[str, int]) -> dict[str, int]:
    """Return the ids of target languages by code: `deu` for `>>deu<<`."""
    found = ((_CODE.fullmatch(piece), index) for piece, index in ids.items())
    return {match.group(1): index for match, index in found if match is not None}
