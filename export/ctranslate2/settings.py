"""Settings of a model: config.json, or in versions before 6 attributes of `model.bin`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from export.ctranslate2.binary import ModelFile
from export.ctranslate2.layout import Attributes
from export.huggingface.fields import ConfigFields
from export.huggingface.files import CONFIG_FILE, read_object

FIRST_WITH_CONFIG = 6
DEFAULT_EPSILON = 1e-5
UNSUPPORTED = ("multi_query_attention", "quantization_type")


@dataclass(frozen=True, slots=True)
class Ct2Settings:
    """Special tokens, and what surrounds a source."""

    unk_token: str
    bos_token: str
    eos_token: str
    start_token: str | None
    """Token that starts a target; None if each language has its own."""
    adds_source_bos: bool
    adds_source_eos: bool
    norm_epsilon: float

    @property
    def ends_source(self) -> bool:
        """Return whether a source ends with the end-of-sentence token.

        OpenNMT's models say so if they do. Converters for Transformers leave the token to the tokenizers,
        which all add it; their models start targets with another token than the beginning of sentence.
        """
        if self.adds_source_bos or self.adds_source_eos:
            return self.adds_source_eos
        return self.start_token != self.bos_token


def read_settings(folder: Path, file: ModelFile, attributes: Attributes, problems: list[str]) -> Ct2Settings:
    """Read the settings; add what is unsupported or of a wrong type to `problems`."""
    if file.version < FIRST_WITH_CONFIG:
        return _read_attributes(attributes)
    content = read_object(folder / CONFIG_FILE, problems)
    problems += [
        f"{CONFIG_FILE}: {name} is on, which is not supported" for name in UNSUPPORTED if content.get(name)
    ]
    return _read_config(content, problems)


def _read_config(content: dict[str, Any], problems: list[str]) -> Ct2Settings:
    fields = ConfigFields(content, CONFIG_FILE, problems)
    epsilon = fields.number("layer_norm_epsilon", DEFAULT_EPSILON)
    if not epsilon > 0:
        problems.append(f"{CONFIG_FILE}: layer_norm_epsilon is {epsilon}, not above 0")
    return Ct2Settings(
        unk_token=fields.text("unk_token") or "<unk>",
        bos_token=fields.text("bos_token") or "<s>",
        eos_token=fields.text("eos_token") or "</s>",
        start_token=fields.text("decoder_start_token"),
        adds_source_bos=fields.flag("add_source_bos", default=False),
        adds_source_eos=fields.flag("add_source_eos", default=False),
        norm_epsilon=epsilon if epsilon > 0 else DEFAULT_EPSILON,
    )


def _read_attributes(attributes: Attributes) -> Ct2Settings:
    bos_token = attributes.text("bos_token", "<s>")
    has_start = attributes.number("with_target_bos", 1) and not attributes.number(
        "user_decoder_start_tokens", 0
    )
    return Ct2Settings(
        unk_token=attributes.text("unk_token", "<unk>"),
        bos_token=bos_token,
        eos_token=attributes.text("eos_token", "</s>"),
        start_token=bos_token if has_start else None,
        adds_source_bos=bool(attributes.number("with_source_bos", 0)),
        adds_source_eos=bool(attributes.number("with_source_eos", 0)),
        norm_epsilon=DEFAULT_EPSILON,
    )
