"""Tokenizers with the ids of their pieces in vocab.json: those of OPUS-MT and of M2M-100."""

from collections.abc import Mapping

from export.huggingface.codes import M2M_100, WMT_21
from export.huggingface.configuration import HuggingFaceShape
from export.huggingface.fields import ConfigFields
from export.huggingface.files import TOKENIZER_CONFIG_FILE, JsonFiles, read_object
from export.huggingface.vocabularies import (
    LanguageTokens,
    Vocabularies,
    check_added_tokens,
    check_ids,
    make_tokenizer,
    read_special_tokens,
)
from export.original import TARGET_TOKEN, find_tokens, open_sentencepiece

SMALL_100 = "SMALL100Tokenizer"
"""Not in `transformers`; its model (Mohammadshahi et al. 2022, arXiv:2210.11621) has the class of M2M-100."""
MODELS: Mapping[str, tuple[str, str]] = {
    "MarianTokenizer": ("source.spm", "target.spm"),
    "M2M100Tokenizer": ("sentencepiece.bpe.model", "sentencepiece.bpe.model"),
    SMALL_100: ("sentencepiece.bpe.model", "sentencepiece.bpe.model"),
}
"""SentencePiece models of source and target, by class."""
VOCABULARY, TARGET_VOCABULARY = "vocab.json", "target_vocab.json"
SPECIAL_TOKENS = {"unk_token": "<unk>", "eos_token": "</s>", "pad_token": "<pad>"}
CODES = {"m2m100": M2M_100, "wmt21": WMT_21}
"""Codes of M2M-100 by the name of their list in tokenizer_config.json."""


def read_vocab_json(
    settings: JsonFiles, shape: HuggingFaceShape, class_name: str, problems: list[str]
) -> Vocabularies | None:
    """Read the files of a class in `MODELS`; return None and add problems if they are unusable.

    Target languages of OPUS-MT, `>>deu<<`, are pieces of the source vocabulary.
    """
    fields = ConfigFields(settings.tokenizer, TOKENIZER_CONFIG_FILE, problems)
    is_m2m, defaults = class_name != "MarianTokenizer", dict(SPECIAL_TOKENS)
    names = (VOCABULARY, VOCABULARY)
    if is_m2m:
        defaults |= {"bos_token": "<s>"}
    elif fields.flag("separate_vocabs", default=False):
        names = (VOCABULARY, TARGET_VOCABULARY)
    sizes = (shape.source_vocab_size, shape.target_vocab_size)
    ids = [
        check_ids(read_object(settings.folder / name, problems), size, name, problems)
        for name, size in zip(names, sizes, strict=True)
    ]
    if is_m2m:
        languages = _read_m2m_languages(fields, len(ids[0]), sizes[0], problems)
        tokens = {f"__{code}__": index for code, index in languages.items()}
    else:
        languages = find_tokens(TARGET_TOKEN, ids[0].items())
        tokens = {f">>{code}<<": index for code, index in languages.items()}
    special = read_special_tokens(fields, defaults, dict(zip(names, ids, strict=True)), problems)
    check_added_tokens(settings, {**ids[0], **tokens}, problems)
    models = [open_sentencepiece(settings.folder / name, problems) for name in MODELS[class_name]]
    if problems or models[0] is None or models[1] is None:
        return None
    source, target = (
        make_tokenizer(
            settings.folder / name,
            vocabulary,
            size=size,
            textless={*special.values(), *tokens},
            unknown=model.id_to_piece(model.unk_id()),
            unk_id=vocabulary[special["unk_token"]],
        )
        for name, model, vocabulary, size in zip(
            MODELS[class_name], filter(None, models), ids, sizes, strict=True
        )
    )
    has_source_code = class_name == "M2M100Tokenizer"
    return Vocabularies(
        tokenizer_class=class_name,
        source=source,
        target=target,
        unk_id=ids[0][special["unk_token"]],
        languages=LanguageTokens(
            languages,
            ids[0][special["eos_token"]],
            source_code="before" if has_source_code else "none",
            target_code="forced" if has_source_code else "source",
            prefixes={index: (index,) for index in languages.values()} if class_name == SMALL_100 else {},
        ),
    )


def _read_m2m_languages(
    fields: ConfigFields, num_pieces: int, size: int, problems: list[str]
) -> dict[str, int]:
    """Return the ids of M2M-100's languages by code: they follow the pieces.

    After them come made-up words that only fill the table.
    """
    listed = fields.text("language_codes") or "m2m100"
    if listed not in CODES:
        problems.append(
            f"{TOKENIZER_CONFIG_FILE}: language_codes {listed!r} is not one of {', '.join(CODES)}"
        )
    languages = {code: num_pieces + index for index, code in enumerate(CODES.get(listed, ()))}
    if num_pieces + len(languages) > size:
        problems.append(f"{VOCABULARY} and {len(languages)} languages exceed the model's {size} ids")
    return languages
