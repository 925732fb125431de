"""The attention that a Marian model was trained to align with (`--guided-alignment`).

Marian holds the first head of one decoder layer to given alignments, at the step that says the token (Chen et
al. 2016, "Guided Alignment Training for Topic-Aware Neural Machine Translation", arXiv:1607.01628); its
decoder's `alignment` tells the same head's. A model's own options name the layer, trained or not, and not
whether there were alignments.
"""

from collections.abc import Mapping
from typing import Any

from dragoman.manifest import AlignmentHeads

LAYER = "transformer-guided-alignment-layer"
LAST = "last"
"""What Marian writes where nobody chose a layer."""
FIRST_HEAD = 0


def read_alignment(
    options: Mapping[str, Any], decoder_options: Mapping[str, Any], decoder_layers: int
) -> AlignmentHeads | None:
    """The trained head; None where nothing says that one was, or the layer is none of the model's.

    Args:
        options: the model's own; those of a training among them where they were saved.
        decoder_options: of decoder.yml.
        decoder_layers: of the model.
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
