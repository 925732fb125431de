"""Import of a CTranslate2 folder with an encoder-decoder Transformer."""

import dataclasses
from pathlib import Path
from typing import Any

from dragoman.bundle import file_sha256
from dragoman.languages import Languages
from export.ctranslate2.binary import MODEL_FILE, ModelFile, read_model_file
from export.ctranslate2.languages import find_language_tokens, read_languages
from export.ctranslate2.layout import Attributes, ModelLayout, left_over_problems, read_layout
from export.ctranslate2.placement import MAX_POSITIONS, Tables, place_weights, read_tables, stored_positions
from export.ctranslate2.settings import Ct2Settings, read_settings
from export.ctranslate2.vocabulary import Ct2Vocabulary, find_tokenizers, make_tokenizers, read_vocabularies
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
class _Parts:
    """A model without its weights and its languages."""

    file: ModelFile
    tables: Tables
    layout: ModelLayout
    settings: Ct2Settings
    vocabularies: tuple[Ct2Vocabulary, Ct2Vocabulary]

    def vocabulary_problems(self) -> list[str]:
        """Return problems if vocabularies and tables differ in size, or special tokens are missing."""
        found: list[str] = []
        tables, settings, vocabularies = self.tables, self.settings, self.vocabularies
        for vocabulary, table in zip(vocabularies, (tables.source, tables.target), strict=True):
            num_tokens, num_rows = len(vocabulary.tokens), table.shape[0]
            if num_tokens != num_rows:
                found.append(f"{vocabulary.file} has {num_tokens} tokens, but its table {num_rows} rows")
            needed = {"unk_token": settings.unk_token, "eos_token": settings.eos_token}
            if vocabulary is vocabularies[0] and settings.adds_source_bos:
                needed["bos_token"] = settings.bos_token
            known = set(vocabulary.tokens)
            found += [
                f"{vocabulary.file} does not have {token!r}, the {name}"
                for name, token in needed.items()
                if token not in known
            ]
        start = None if self.layout.starts_from_zero else settings.start_token
        if start is not None and start not in vocabularies[1].tokens:
            found.append(f"{vocabularies[1].file} does not have {start!r}, the decoder_start_token")
        return list(dict.fromkeys(found))  # both are often the same file

    def config(self, problems: list[str]) -> ModelConfig | None:
        """Return the model's shape; None if it is unclear, with problems added, or there are any."""
        layout, settings, tables = self.layout, self.settings, self.tables
        num_positions, shares_positions = MAX_POSITIONS, True
        if layout.has_stored_positions:
            num_positions, shares_positions = stored_positions(self.file, tables.target.shape[1], problems)
        if problems:
            return None
        ids, num_targets = self.vocabularies[1].ids, tables.target.shape[0]
        start_token = settings.eos_token if settings.start_token is None else settings.start_token
        try:
            return ModelConfig(
                source_vocab_size=tables.source.shape[0] + (tables.is_shared and layout.starts_from_zero),
                target_vocab_size=num_targets + layout.starts_from_zero,
                encoder_layers=layout.encoder_layers,
                decoder_layers=layout.decoder_layers,
                d_model=tables.target.shape[1],
                heads=layout.heads,
                ffn=_ffn_size(self.file, "encoder"),
                decoder_ffn=_ffn_size(self.file, "decoder"),
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
                shared_vocab=tables.is_shared,
                tied_output=tables.is_tied,
                dropout=0.0,
                pad_id=ids[settings.eos_token],  # padding is never read
                unk_id=ids[settings.unk_token],
                bos_id=num_targets if layout.starts_from_zero else ids[start_token],
                eos_id=ids[settings.eos_token],
            )
        except ValueError as error:
            problems.append(str(error))
            return None

    def textless_tokens(self, tokens: LanguageTokens) -> set[str]:
        settings, (source, target) = self.settings, self.vocabularies
        special = {settings.bos_token, settings.eos_token, settings.start_token or settings.eos_token}
        return (
            special.union(TEXTLESS)
            | {source.tokens[index] for index in tokens.ids.values()}
            | {token for token in (*source.tokens, *target.tokens) if token.startswith(MADE_UP)}
        )

    def languages(
        self, tokens: LanguageTokens, bos_id: int, wanted: RequestedLanguages, problems: list[str]
    ) -> Languages | None:
        settings, ids = self.settings, self.vocabularies[0].ids
        if (
            settings.start_token is None
            and not self.layout.starts_from_zero
            and tokens.target_code != "start"
        ):
            problems.append(
                "no decoder_start_token is set, and the vocabulary has no languages that start targets"
            )
            return None
        before = (ids[settings.bos_token],) if settings.adds_source_bos else ()
        after = (tokens.eos_id,) if settings.ends_source else ()
        return read_languages(tokens, bos_id, (before, after), wanted, problems)

    def origin(self) -> dict[str, Any]:
        """Return the record for the manifest."""
        file = self.file
        largest = max(file.variables.values(), key=lambda variable: variable.num_elements)
        return {
            "tool": "CTranslate2",
            "model_sha256": file_sha256(file.path),
            "file_version": file.version,
            "layout": file.layout,
            "revision": file.revision,
            "dtype": largest.dtype,
            "positions": "stored" if self.layout.has_stored_positions else "sinusoidal",
            "settings": dataclasses.asdict(self.settings),
        }


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
        parts, weights = _read_model(folder, file, problems)
    except (TensorFileError, OSError) as error:
        raise ImportRejectedError(str(folder), (str(error),)) from error
    models = find_tokenizers(tokenizer_folder, problems)
    if problems or parts is None or weights is None or models is None:
        raise ImportRejectedError(str(folder), tuple(limit_problems(list(dict.fromkeys(problems)))))
    tokens = find_language_tokens(parts.vocabularies[0], parts.settings)
    config = weights.config
    tokenizers = make_tokenizers(
        parts.vocabularies,
        models,
        (config.source_vocab_size, config.target_vocab_size),
        parts.settings.unk_token,
        parts.textless_tokens(tokens) | ({target_prefix} if target_prefix else set()),
        problems,
    )
    languages = None
    if tokenizers is not None:
        languages = parts.languages(tokens, config.bos_id, wanted, problems)
    if languages is not None and target_prefix is not None:
        languages = _with_prefix(languages, parts.vocabularies[1], target_prefix, problems)
    if problems or tokenizers is None or languages is None:
        raise ImportRejectedError(str(folder), tuple(limit_problems(list(dict.fromkeys(problems)))))
    return Original(
        kind=KIND,
        model=weights,
        source_tokenizer=tokenizers[0],
        target_tokenizer=tokenizers[1],
        languages=languages,
        origin=parts.origin(),
        alignment=parts.layout.alignment,
    )


def _read_model(
    folder: Path, file: ModelFile, problems: list[str]
) -> tuple[_Parts, ModelWeights] | tuple[None, None]:
    found: list[str] = []
    attributes = Attributes(file, found)
    tables = read_tables(file, found)
    layout = None if tables is None else read_layout(file, tables.target.shape[1], attributes, found)
    settings = read_settings(folder, file, attributes, problems)
    vocabularies = read_vocabularies(folder, problems)
    parts = weights = None
    if tables is not None and layout is not None and vocabularies is not None:
        parts = _Parts(file, tables, layout, settings, vocabularies)
        problems += parts.vocabulary_problems()
        config = None if problems else parts.config(found)
        if config is not None:
            stored, used = place_weights(file, layout, config, tables, found)
            found += left_over_problems(file, used | attributes.used)
            weights = ModelWeights(config, StoredWeights(stored))
    problems += [f"{MODEL_FILE}: {problem}" for problem in limit_problems(found)]
    return (None, None) if parts is None or weights is None else (parts, weights)


def _ffn_size(file: ModelFile, stack: str) -> int:
    """Return the number of rows of the inner feed-forward layer; 0, which no model has, if it is missing."""
    inner = file.variables.get(f"{stack}/layer_0/ffn/linear_0/weight")
    return 0 if inner is None or not inner.shape else inner.shape[0]


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
