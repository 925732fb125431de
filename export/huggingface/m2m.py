"""Tokenizer of M2M-100: one SentencePiece model, ids of its pieces in vocab.json, then language ids."""

from export.huggingface.codes import M2M_100, WMT_21
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

MODEL = "sentencepiece.bpe.model"
VOCABULARY = "vocab.json"
SPECIAL_TOKENS = {"unk_token": "<unk>", "eos_token": "</s>", "bos_token": "<s>", "pad_token": "<pad>"}
CODES = {"m2m100": M2M_100, "wmt21": WMT_21}
"""Codes by the name of their list in tokenizer_config.json."""


def read_m2m(settings: JsonFiles, shape: HuggingFaceShape, problems: list[str]) -> Vocabularies | None:
    """Read `M2M100Tokenizer`'s files; return None and add problems if they are unusable.

    Languages follow the pieces; after them come made-up words that only fill the table.
    """
    fields = ConfigFields(settings.tokenizer, TOKENIZER_CONFIG_FILE, problems)
    size = shape.source_vocab_size
    ids = check_ids(read_object(settings.folder / VOCABULARY, problems), size, VOCABULARY, problems)
    listed = fields.text("language_codes") or "m2m100"
    if listed not in CODES:
        problems.append(
            f"{TOKENIZER_CONFIG_FILE}: language_codes {listed!r} is not one of {', '.join(CODES)}"
        )
    languages = {code: len(ids) + index for index, code in enumerate(CODES.get(listed, ()))}
    if len(ids) + len(languages) > size:
        problems.append(f"{VOCABULARY} and {len(languages)} languages exceed the model's {size} ids")
    tokens = {f"__{code}__": index for code, index in languages.items()}
    special = read_special_tokens(fields, SPECIAL_TOKENS, {VOCABULARY: ids}, problems)
    check_added_tokens(settings, {**ids, **tokens}, problems)
    model = open_sentencepiece(settings.folder / MODEL, problems)
    if problems or model is None:
        return None
    pieces = make_tokenizer(
        settings.folder / MODEL,
        ids,
        size=size,
        textless=special.values(),
        unknown=model.id_to_piece(model.unk_id()),
        unk_id=ids[special["unk_token"]],
    )
    return Vocabularies(
        tokenizer_class="M2M100Tokenizer",
        source=pieces,
        target=pieces,
        unk_id=ids[special["unk_token"]],
        eos_id=ids[special["eos_token"]],
        languages=languages,
        source_code="before",
        target_code="forced",
    )
