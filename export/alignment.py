"""Which attention of a model tells what of the source a target token says, where nobody was told.

docs/explanation/decisions/0012-alignment-from-attention.md tells what was measured.
"""

from dragoman.manifest import AlignmentHeads
from export.model import ModelConfig

DEEP = 4
"""From so many decoder layers on, those in the middle are neither busy with the token that was read last nor
with the one to be said next."""


def default_alignment(config: ModelConfig) -> AlignmentHeads:
    """All heads of one layer: no head is known to be better than the others.

    Of a deep decoder the middle layer, at the step that reads the token: Chen et al. 2020, "Accurate Word
    Alignment Induction from Neural Machine Translation", arXiv:2004.14837, read the third of six so. Of a
    shallow one the last layer, at the step that says it: so our own model of two layers did better.
    """
    heads, layers = tuple(range(config.heads)), config.decoder_layers
    if layers < DEEP:
        return AlignmentHeads(layers - 1, heads, reads_token=False)
    return AlignmentHeads((layers - 1) // 2, heads, reads_token=True)


def alignment_problems(alignment: AlignmentHeads, config: ModelConfig) -> list[str]:
    """Why a model has no such attention."""
    problems = []
    if not 0 <= alignment.layer < config.decoder_layers:
        problems.append(
            f"alignment layer {alignment.layer}: the decoder's layers are 0 to {config.decoder_layers - 1}"
        )
    if not alignment.heads or len(set(alignment.heads)) < len(alignment.heads):
        problems.append("alignment heads must be one or more, each named once")
    problems += [
        f"alignment head {head}: a layer's heads are 0 to {config.heads - 1}"
        for head in alignment.heads
        if not 0 <= head < config.heads
    ]
    return problems
