"""Import of a CTranslate2 folder with an encoder-decoder Transformer."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dragoman.bundle import file_sha256
from dragoman.languages import Languages
from export.ctranslate2.binary import MODEL_FILE, ModelFile, read_model_file
from export.ctranslate2.languages import (
    find_language_tokens,
    read_languages,
)
from export.ctranslate2.layout import Attributes, ModelLayout, left_over_problems, read_layout
from export.ctranslate2.placement import (
    MAX_POSITIONS,
    Tables,
    place_weights,
    read_tables,
    stored_positions,
)
from export.ctranslate2.settings import Ct2Settings, read_settings
from export.ctranslate2.vocabulary import (
    Ct2Vocabulary,
    find_tokenizers,
    make_tokenizers,
    read_vocabularies,
)
from export.huggingface.vocabularies import LanguageTokens
from export.huggingface.weights import limit_problems
from export.model_config import ModelConfig
from export.model_weights import ModelWeights
from export.original import ImportRejectedError, Original, RequestedLanguages
from export.tensors.tensor import StoredWeights, TensorFileError

KIND = "CTranslate2 model"
TEXTLESS = ("<blank>", "<pad>", "<s>", "</s>", "<unk>", "<mask>")
"""Tokens that never represent text, whatever the settings say."""
MADE_UP = "madeupword"


@dataclasses.dataclass(frozen=True, slots=True)
class _Model:
    """A model without its languages."""

    weights: ModelWeights
    layout: ModelLayout
    settings: Ct2Settings
    vocabularies: tuple[Ct2Vocabulary, Ct2Vocabulary]


def recognises(folder: Path) -> bool:
    """Return whether a folder has a CTranslate2 model, complete or not."""
    return (folder / MODEL_FILE).is_file()


def load(folder: Path, wanted: RequestedLanguages) -> Original:
    """Read a CTranslate2 folder that has the SentencePiece models of its tokenizers, too.

    Weights stay in the file. Integers with scales become float32 when they are read.

    Raises:
        ImportRejectedError: something is unsupported, missing or damaged; with all reasons.
    """
    return load_with_tokenizers(folder, folder, wanted, None)


def load_with_tokenizers(
    folder: Path, tokenizer_folder: Path, wanted: RequestedLanguages, target_prefix: str | None
) -> Original:
    """Read a CTranslate2 folder.

    Args:
        folder: the folder.
        tokenizer_folder: folder of its SentencePiece models.
        wanted: languages requested by the caller.
        target_prefix: token that every target begins with, after the start token; None if there is none.

    Raises:
        ImportRejectedError: something is unsupported, missing or damaged; with all reasons.
    """
    problems: list[str] = []
    try:
        file = read_model_file(folder / MODEL_FILE)
        model = _read_model(folder, file, problems)
    except (TensorFileError, OSError) as error:
        raise ImportRejectedError(str(folder), (str(error),)) from error
    models = find_tokenizers(tokenizer_folder, problems)
    if problems or model is None or models is None:
        raise ImportRejectedError(str(folder), tuple(limit_problems(list(dict.fromkeys(problems)))))
    tokens = find_language_tokens(model.vocabularies[0], model.settings)
    config = model.weights.config
    tokenizers = make_tokenizers(
        model.vocabularies,
        models,
        (config.source_vocab_size, config.target_vocab_size),
        model.settings.unk_token,
        _textless_tokens(model, tokens) | ({target_prefix} if target_prefix else set()),
        problems,
    )
    languages = None
    if tokenizers is not None:
        languages = _find_languages(model, tokens, wanted, problems)
    if languages is not None and target_prefix is not None:
        languages = _with_prefix(languages, model.vocabularies[1], target_prefix, problems)
    if problems or tokenizers is None or languages is None:
        raise ImportRejectedError(str(folder), tuple(limit_problems(list(dict.fromkeys(problems)))))
    return Original(
        kind=KIND,
        model=model.weights,
        source_tokenizer=tokenizers[0],
        target_tokenizer=tokenizers[1],
        languages=languages,
        origin=_origin(file, model),
        alignment=model.layout.alignment,
    )


def _read_model(folder: Path, file: ModelFile, problems: list[str]) -> _Model | None:
    found: list[str] = []
    attributes = Attributes(file, found)
    tables = read_tables(file, found)
    layout = None if tables is None else read_layout(file, tables.target.shape[1], attributes, found)
    settings = read_settings(folder, file, attributes, problems)
    vocabularies = read_vocabularies(folder, problems)
    weights = None
    if tables is not None and layout is not None and vocabularies is not None:
        _check_vocabularies(vocabularies, tables, layout, settings, problems)
        config = None if problems else _make_config(file, layout, settings, vocabularies, tables, found)
        if config is not None:
            stored, used = place_weights(file, layout, config, tables, found)
            found += left_over_problems(file, used | attributes.used)
            weights = ModelWeights(config, StoredWeights(stored))
    problems += [f"{MODEL_FILE}: {problem}" for problem in limit_problems(found)]
    if weights is None or layout is None or vocabularies is None:
        return None
    return _Model(weights, layout, settings, vocabularies)


def _check_vocabularies(
    vocabularies: tuple[Ct2Vocabulary, Ct2Vocabulary],
    tables: Tables,
    layout: ModelLayout,
    settings: Ct2Settings,
    problems: list[str],
) -> None:
    """Add problems if vocabularies and tables differ in size, or special tokens are missing."""
    found: list[str] = []
    for vocabulary, table in zip(vocabularies, (tables.source, tables.target), strict=True):
        if len(vocabulary.tokens) != table.shape[0]:
            found.append(
                f"{vocabulary.file} has {len(vocabulary.tokens)} tokens, but its table {table.shape[0]} rows"
            )
        needed = {"unk_token": settings.unk_token, "eos_token": settings.eos_token}
        if vocabulary is vocabularies[0] and settings.adds_source_bos:
            needed["bos_token"] = settings.bos_token
        known = set(vocabulary.tokens)
        found += [
            f"{vocabulary.file} does not have {token!r}, the {name}"
            for name, token in needed.items()
            if token not in known
        ]
    start = None if layout.starts_from_zero else settings.start_token
    if start is not None and start not in vocabularies[1].tokens:
        found.append(f"{vocabularies[1].file} does not have {start!r}, the decoder_start_token")
    problems += dict.fromkeys(found)  # both are often the same file


def _make_config(
    file: ModelFile,
    layout: ModelLayout,
    settings: Ct2Settings,
    vocabularies: tuple[Ct2Vocabulary, Ct2Vocabulary],
    tables: Tables,
    problems: list[str],
) -> ModelConfig | None:
    num_positions, shares_positions = MAX_POSITIONS, True
    if layout.has_stored_positions:
        num_positions, shares_positions = stored_positions(file, tables.target.shape[1], problems)
    if problems:
        return None
    is_shared = tables.is_shared
    ids, num_targets = vocabularies[1].ids, tables.target.shape[0]
    try:
        return ModelConfig(
            source_vocab_size=tables.source.shape[0] + (is_shared and layout.starts_from_zero),
            target_vocab_size=num_targets + layout.starts_from_zero,
            encoder_layers=layout.encoder_layers,
            decoder_layers=layout.decoder_layers,
            d_model=tables.target.shape[1],
            heads=layout.heads,
            ffn=_ffn_size(file, "encoder"),
            decoder_ffn=_ffn_size(file, "decoder"),
            activation=layout.activation,
            norm=layout.norm,
            final_norm=layout.has_final_norm,
            embedding_norm=layout.has_embedding_norm,
            norm_epsilon=settings.norm_epsilon,
            scaled_embeddings=layout.scaled_embeddings,
            positions="learned" if layout.has_stored_positions else "tensor2tensor",
            first_position=0 if layout.has_stored_positions else 1,
            shared_positions=shares_positions,
            max_positions=num_positions,
            shared_vocab=is_shared,
            tied_output=tables.is_tied,
            dropout=0.0,
            pad_id=ids[settings.eos_token],  # padding is never read
            unk_id=ids[settings.unk_token],
            bos_id=_start_id(layout, settings, ids, num_targets),
            eos_id=ids[settings.eos_token],
        )
    except ValueError as error:
        problems.append(str(error))
        return None


def _ffn_size(file: ModelFile, stack: str) -> int:
    """Return the number of rows of the inner feed-forward layer; 0, which no model has, if it is missing."""
    inner = file.variables.get(f"{stack}/layer_0/ffn/linear_0/weight")
    return 0 if inner is None or not inner.shape else inner.shape[0]


def _start_id(layout: ModelLayout, settings: Ct2Settings, ids: Mapping[str, int], num_targets: int) -> int:
    if layout.starts_from_zero:
        return num_targets
    return ids[settings.eos_token if settings.start_token is None else settings.start_token]


def _textless_tokens(model: _Model, tokens: LanguageTokens) -> set[str]:
    settings, (source, target) = model.settings, model.vocabularies
    languages = set(tokens.ids.values())
    special = {settings.bos_token, settings.eos_token, settings.start_token or settings.eos_token, *TEXTLESS}
    return (
        special
        | {source.tokens[index] for index in languages}
        | {token for token in (*source.tokens, *target.tokens) if token.startswith(MADE_UP)}
    )


def _find_languages(
    model: _Model, tokens: LanguageTokens, wanted: RequestedLanguages, problems: list[str]
) -> Languages | None:
    settings, ids = model.settings, model.vocabularies[0].ids
    if settings.start_token is None and not model.layout.starts_from_zero and tokens.target_code != "start":
        problems.append(
            "no decoder_start_token is set, and the vocabulary has no languages that start targets"
        )
        return None
    before = (ids[settings.bos_token],) if settings.adds_source_bos else ()
    after = (tokens.eos_id,) if settings.ends_source else ()
    return read_languages(tokens, model.weights.config.bos_id, (before, after), wanted, problems)


def _with_prefix(
    languages: Languages, vocabulary: Ct2Vocabulary, prefix: str, problems: list[str]
) -> Languages | None:
    """Return the languages with a token more at the beginning of targets."""
    if prefix not in vocabulary.tokens:
        problems.append(f"{vocabulary.file} does not have {prefix!r}, the target_prefix")
        return None
    begin = (vocabulary.ids[prefix],)
    targets = {
        code: dataclasses.replace(target, begin=(*target.begin[:1], *(target.begin[1:] or begin)))
        for code, target in languages.targets.items()
    }
    return Languages(languages.sources, targets)


def _origin(file: ModelFile, model: _Model) -> dict[str, Any]:
    """Return the record for the manifest."""
    largest = max(file.variables.values(), key=lambda variable: variable.num_elements)
    return {
        "tool": "CTranslate2",
        "model_sha256": file_sha256(file.path),
        "file_version": file.version,
        "layout": file.layout,
        "revision": file.revision,
        "dtype": largest.dtype,
        "positions": "stored" if model.layout.has_stored_positions else "sinusoidal",
        "settings": dataclasses.asdict(model.settings),
    }
