"""Names of a checkpoint's weights in Hugging Face's `PegasusForConditionalGeneration`.

Pegasus is the pre-norm Transformer with sinusoidal positions, a tied projection and a bias on the logits.
"""

import re
from collections.abc import Mapping
from typing import Any

Shape = dict[str, Any]
"""The fields of a checkpoint's model.json."""
CONVERTIBLE: Mapping[str, object] = {
    "norm": "pre",
    "positions": "sinusoidal",
    "shared_vocab": True,
    "tied_output": True,
    "share_kv": False,
}
"""Fields that a shape must have."""
_NAMES: Mapping[str, str] = {
    r"^source_embedding\.": "model.shared.",
    r"^output_bias$": "final_logits_bias",
    r"^(encoder|decoder)_norm\.": r"model.\1.layer_norm.",
    r"^(encoder|decoder)\.": r"model.\1.layers.",
    r"\.query\.": ".q_proj.",
    r"\.key\.": ".k_proj.",
    r"\.value\.": ".v_proj.",
    r"\.output\.": ".out_proj.",
    r"\.self_attention\.": ".self_attn.",
    r"\.cross_attention\.": ".encoder_attn.",
    r"\.self_residual\.norm\.": ".self_attn_layer_norm.",
    r"\.cross_residual\.norm\.": ".encoder_attn_layer_norm.",
    r"\.feed_forward_residual\.norm\.": ".final_layer_norm.",
    r"\.feed_forward\.inner\.": ".fc1.",
    r"\.feed_forward\.outer\.": ".fc2.",
}
"""Parts of our names, as patterns, and what stands in their place."""


def check_convertible(shape: Shape) -> None:
    """Check that the other engines can run a model of this shape.

    Raises:
        ValueError: they cannot; the message has every reason.
    """
    wrong = [field for field, value in CONVERTIBLE.items() if shape[field] != value]
    if wrong:
        raise ValueError("; ".join(f"{one} is {shape[one]!r}, not {CONVERTIBLE[one]!r}" for one in wrong))


def pegasus_name(ours: str) -> str:
    """Return Pegasus' name of a weight."""
    for pattern, theirs in _NAMES.items():
        ours = re.sub(pattern, theirs, ours)
    return ours
