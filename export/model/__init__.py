"""The model in PyTorch, for training and for `--prove`. Nothing else needs PyTorch."""

from export.model.transformer import Transformer
from export.model_config import ModelConfig

__all__ = ["ModelConfig", "Transformer"]
