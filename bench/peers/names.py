"""Names of a checkpoint's weights, ours and those of the other engines."""

from typing import Any

Shape = dict[str, Any]
"""The fields of a checkpoint's model.json."""

ATTENTION = {"query": "q_proj", "key": "k_proj", "value": "v_proj", "output": "out_proj"}
FEED_FORWARD = {"inner": "fc1", "outer": "fc2"}
NORMS = {"self_residual": "self_attn_layer_norm", "feed_forward_residual": "final_layer_norm"}
PARAMETERS = ("weight", "bias")


def check_convertible(shape: Shape) -> None:
    """Check that the other engines can run a model of this shape.

    Raises:
        ValueError: they cannot; the message has every reason.
    """
    required = {
        "norm": "pre",
        "positions": "sinusoidal",
        "shared_vocab": True,
        "tied_output": True,
        "share_kv": False,
    }
    problems = [
        f"{field} is {shape[field]!r}, only {value!r} can be converted"
        for field, value in required.items()
        if shape[field] != value
    ]
    if problems:
        raise ValueError("; ".join(problems))


def pegasus_names(encoder_layers: int, decoder_layers: int) -> dict[str, str]:
    """Map our name of every trained weight to its name in Hugging Face's `PegasusForConditionalGeneration`.

    Pegasus is the pre-norm Transformer with sinusoidal positions, a tied projection and a bias on the logits.
    """
    names = {"source_embedding.weight": "model.shared.weight", "output_bias": "final_logits_bias"}
    for side in ("encoder", "decoder"):
        names |= _weight_and_bias(f"{side}_norm", f"model.{side}.layer_norm")
    for index in range(encoder_layers):
        names |= _layer(f"encoder.{index}", f"model.encoder.layers.{index}")
    for index in range(decoder_layers):
        ours, theirs = f"decoder.{index}", f"model.decoder.layers.{index}"
        names |= _layer(ours, theirs)
        names |= _attention(f"{ours}.cross_attention", f"{theirs}.encoder_attn")
        names |= _weight_and_bias(f"{ours}.cross_residual.norm", f"{theirs}.encoder_attn_layer_norm")
    return names


def _layer(ours: str, theirs: str) -> dict[str, str]:
    names = _attention(f"{ours}.self_attention", f"{theirs}.self_attn")
    for residual, norm in NORMS.items():
        names |= _weight_and_bias(f"{ours}.{residual}.norm", f"{theirs}.{norm}")
    for part, layer in FEED_FORWARD.items():
        names |= _weight_and_bias(f"{ours}.feed_forward.{part}", f"{theirs}.{layer}")
    return names


def _attention(ours: str, theirs: str) -> dict[str, str]:
    return {
        our_name: their_name
        for part, layer in ATTENTION.items()
        for our_name, their_name in _weight_and_bias(f"{ours}.{part}", f"{theirs}.{layer}").items()
    }


def _weight_and_bias(ours: str, theirs: str) -> dict[str, str]:
    return {f"{ours}.{parameter}": f"{theirs}.{parameter}" for parameter in PARAMETERS}
