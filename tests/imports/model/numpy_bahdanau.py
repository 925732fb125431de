"""The equations of the recurrent model in NumPy and float64, one source at a time, written from the paper.

Bahdanau et al. 2015, arXiv:1409.0473, appendix A; GRU as `torch.nn.GRU` documents it.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Reals = NDArray[np.float64]


def sigmoid(x: Reals) -> Reals:
    return np.asarray(1 / (1 + np.exp(-x)))


class NumpyBahdanau:
    """Log-probabilities and attention of given targets, from weights by name."""

    def __init__(self, weights: dict[str, NDArray[Any]], suppressed_ids: Sequence[int] = ()) -> None:
        self.w = {name: np.asarray(weight, np.float64) for name, weight in weights.items()}
        self.source_table = self.w["source_embedding.weight"]
        self.target_table = self.w.get("target_embedding.weight", self.source_table)
        self.suppressed_ids = list(suppressed_ids)

    def affine(self, name: str, x: Reals) -> Reals:
        product: Reals = self.w[f"{name}.weight"] @ x
        return product + self.w.get(f"{name}.bias", np.zeros(()))

    def gru(self, gates: Reals, cell: str, h: Reals) -> Reals:
        r_in, z_in, n_in = np.split(gates, 3)
        r_h, z_h, n_h = np.split(self.affine(cell, h), 3)
        r, z = sigmoid(r_in + r_h), sigmoid(z_in + z_h)
        n = np.tanh(n_in + r * n_h)
        return np.asarray((1 - z) * n + z * h)

    def annotations(self, source: Sequence[int], factor: float) -> Reals:
        """Return h_1 .. h_S, [S, d]."""
        sides = []
        for direction, order in (("forwards", source), ("backwards", source[::-1])):
            h = np.zeros(self.w[f"encoder.{direction}.cell.state_gates.weight"].shape[1])
            states = []
            for token in order:
                gates = self.affine(f"encoder.{direction}.embedding_gates", factor * self.source_table[token])
                h = self.gru(gates, f"encoder.{direction}.cell.state_gates", h)
                states.append(h)
            sides.append(states if direction == "forwards" else states[::-1])
        return np.concatenate([np.stack(side) for side in sides], axis=1)

    def run(self, source: Sequence[int], target: Sequence[int], factor: float) -> tuple[Reals, Reals]:
        """Return log-probabilities [T, V] after each target token, and the attention of its step [T, S]."""
        h = self.annotations(source, factor)
        v_a = self.w["decoder.score.weight"][0]
        s = np.tanh(self.affine("decoder.start", h[0, h.shape[1] // 2 :]))
        output = self.w.get("output_weight", self.target_table)
        logprobs, attentions = [], []
        for token in target:
            e = np.array(
                [
                    v_a @ np.tanh(self.affine("decoder.query", s) + self.affine("decoder.key", each))
                    for each in h
                ]
            )
            alpha = np.exp(e) / np.exp(e).sum()
            c = alpha @ h
            y = factor * self.target_table[token]
            gates = self.affine("decoder.embedding_gates", y) + self.affine("decoder.context_gates", c)
            s = self.gru(gates, "decoder.cell.state_gates", s)
            t = self.affine("decoder.state_readout", s) + self.affine("decoder.embedding_readout", y)
            t = t + self.affine("decoder.context_readout", c)
            logits = output @ np.maximum(t[0::2], t[1::2]) + self.w["output_bias"]
            found = logits - np.log(np.exp(logits).sum())
            found[self.suppressed_ids] = -np.inf
            logprobs.append(found)
            attentions.append(alpha)
        return np.stack(logprobs), np.stack(attentions)
