"""The one definition of the model, used by training and by export."""

from export.model.config import ModelConfig
from export.model.transformer import Transformer

__all__ = ["ModelConfig", "Transformer"]
