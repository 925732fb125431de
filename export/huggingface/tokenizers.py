"""Choice of the tokenizer class for a Hugging Face folder."""

import reprlib

from export.huggingface.architectures import M2M_100, MARIAN, Architecture
from export.huggingface.configuration import HuggingFaceShape
from export.huggingface.fairseq import CONVENTIONS, read_fairseq
from export.huggingface.fields import ConfigFields
from export.huggingface.files import CONFIG_FILE, TOKENIZER_CONFIG_FILE, JsonFiles
from export.huggingface.t5_tokenizer import CLASSES, read_t5
from export.huggingface.vocab_json import MODELS, read_vocab_json
from export.huggingface.vocabularies import Vocabularies

GENERIC_CLASSES = frozenset({"PreTrainedTokenizer", "PreTrainedTokenizerFast", "TokenizersBackend"})
"""Class names that do not identify a tokenizer."""
SUPPORTED_CLASSES = (*MODELS, *CONVENTIONS, *CLASSES)


def read_vocabularies(
    settings: JsonFiles, architecture: Architecture, shape: HuggingFaceShape, problems: list[str]
) -> Vocabularies | None:
    """Read the tokenizer's files; return None and add problems if they are unusable."""
    named = find_tokenizer_class(settings, architecture, problems)
    if kwargs := settings.tokenizer.get("sp_model_kwargs"):
        problems.append(f"{TOKENIZER_CONFIG_FILE}: sp_model_kwargs {reprlib.repr(kwargs)} are not supported")
    found: list[str] = []
    vocabularies = _read(named, settings, shape, found)
    problems += found
    return None if found else vocabularies


def _read(
    named: str, settings: JsonFiles, shape: HuggingFaceShape, problems: list[str]
) -> Vocabularies | None:
    if named in MODELS:
        return read_vocab_json(settings, shape, named, problems)
    if named in CONVENTIONS:
        return read_fairseq(settings, shape, named, problems)
    if named in CLASSES:
        return read_t5(settings, shape, named, problems)
    problems.append(f"tokenizer {named} is not supported; supported are {', '.join(SUPPORTED_CLASSES)}")
    return None


def find_tokenizer_class(settings: JsonFiles, architecture: Architecture, problems: list[str]) -> str:
    """Return the class that the files name, in the lookup order of `transformers`; else the default."""
    for content, name in ((settings.tokenizer, TOKENIZER_CONFIG_FILE), (settings.config, CONFIG_FILE)):
        named = ConfigFields(content, name, problems).text("tokenizer_class")
        if named and named not in GENERIC_CLASSES:
            return named.removesuffix("Fast")
    if architecture.is_t5:
        return CLASSES[0]
    if architecture is MARIAN:
        return "MarianTokenizer"
    if architecture is M2M_100:
        return "M2M100Tokenizer" if (settings.folder / "vocab.json").is_file() else "NllbTokenizer"
    return "MBartTokenizer"
