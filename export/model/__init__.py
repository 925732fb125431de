"""The models in PyTorch, for training and for `--prove`. Nothing else needs PyTorch."""

from export.model.bahdanau import Bahdanau
from export.model.transformer import Transformer
from export.model.translation_model import TranslationModel
from export.model_config import Architecture, ModelConfig

__all__ = ["Bahdanau", "ModelConfig", "Transformer", "TranslationModel", "model_class"]

_CLASSES: dict[Architecture, type[TranslationModel]] = {"transformer": Transformer, "bahdanau": Bahdanau}


def model_class(config: ModelConfig) -> type[TranslationModel]:
    """Return the class of the config's architecture."""
    return _CLASSES[config.architecture]
