"""Default attention for word alignment, for models that were not trained to align.

docs/explanation/forced-decoding.md has the measurements.
"""

from dragoman.manifest import AlignmentHeads
from export.model_config import ModelConfig

DEEP = 4
"""Minimum number of decoder layers to use the middle one. In deep decoders it is occupied neither with the
token that was read last nor with the next one."""


def default_alignment(config: ModelConfig) -> AlignmentHeads:
    """Return all heads of one layer: no head is known to be better than the others.

    Deep decoders: the middle layer, at the step that reads the token. Chen et al. 2020, "Accurate Word
    Alignment Induction from Neural Machine Translation", arXiv:2004.14837, used the third of six this way.
    Shallow decoders: the last layer, at the step that predicts the token. Our model of two layers did better.
    """
    heads, layers = tuple(range(config.heads)), config.decoder_layers
    if layers < DEEP:
        return AlignmentHeads(layers - 1, heads, reads_token=False)
    return AlignmentHeads((layers - 1) // 2, heads, reads_token=True)


def alignment_problems(alignment: AlignmentHeads, config: ModelConfig) -> list[str]:
    """Return the reasons why a model does not have this attention."""
    problems = []
    if not 0 <= alignment.layer < config.decoder_layers:
        problems.append(f"alignment layer {alignment.layer} is not between 0 and {config.decoder_layers - 1}")
    if not alignment.heads or len(set(alignment.heads)) < len(alignment.heads):
        problems.append("alignment heads must be one or more, each named once")
    problems += [
        f"alignment head {head} is not between 0 and {config.heads - 1}"
        for head in alignment.heads
        if not 0 <= head < config.heads
    ]
    return problems
