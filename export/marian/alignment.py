"""Attention head that a Marian model was trained to align with (`--guided-alignment`).

Marian trains the first head of one decoder layer on given alignments, at the step that predicts the token
(Chen et al. 2016, "Guided Alignment Training for Topic-Aware Neural Machine Translation", arXiv:1607.01628).
The `alignment` option of its decoder returns the same head. A model's own options name the layer even if it
was not trained, and do not say whether alignments were given.
"""

from collections.abc import Mapping
from typing import Any

from dragoman.manifest import AlignmentHeads

LAYER = "transformer-guided-alignment-layer"
LAST = "last"
"""Value that Marian writes if no layer was chosen."""
FIRST_HEAD = 0


def read_alignment(
    options: Mapping[str, Any], decoder_options: Mapping[str, Any], decoder_layers: int
) -> AlignmentHeads | None:
    """Return the trained head; None if no option says that one was trained, or the layer does not exist.

    Args:
        options: options of the model, including those of its training if they were saved.
        decoder_options: options in decoder.yml.
        decoder_layers: number of decoder layers of the model.
    """
    layer = str(options.get(LAYER) or LAST)
    requested = (options.get("guided-alignment"), decoder_options.get("alignment"))
    is_trained = layer != LAST or any(value not in (None, False, "", "none") for value in requested)
    if not is_trained:
        return None
    number = decoder_layers if layer == LAST else int(layer) if layer.isdecimal() else 0
    if not 1 <= number <= decoder_layers:
        return None
    return AlignmentHeads(number - 1, (FIRST_HEAD,), reads_token=False)
