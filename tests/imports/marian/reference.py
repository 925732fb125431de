"""Marian's transformer in NumPy, float64, one sentence at a time, straight from its arrays.

Written from marian-dev's definitions, not from the import: operations are taken letter by letter from the
options.
Shapes: S source tokens, T target tokens, d model width, V target vocabulary.
"""

import math
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from tests.imports.marian.written import Arrays, Options

Matrix = NDArray[np.float64]
EPSILON = 1e-6


class Reference:
    """One model. `log_probabilities` is all of it; `greedy` takes the best token at each step."""

    def __init__(self, arrays: Arrays, options: Options) -> None:
        self.arrays: dict[str, Matrix] = {name: array.astype(np.float64) for name, array in arrays.items()}
        self.options = options

    def encode(self, source_ids: Sequence[int]) -> Matrix:
        """[S] -> [S, d]."""
        shares = self.options["tied-embeddings-all"] or self.options["tied-embeddings-src"]
        table = self.arrays["Wemb" if shares else "encoder_Wemb"]
        embedded = self._embed(table[list(source_ids)], first_position=0)
        states = self._operate("encoder_emb", "_pre", self.options["transformer-postprocess-emb"], embedded)
        for number in range(1, self.options["enc-depth"] + 1):
            prefix = f"encoder_l{number}"
            states = self._self_attention(f"{prefix}_self", states, np.zeros((len(states), len(states))))
            states = self._feed_forward(f"{prefix}_ffn", states)
        return self._after("encoder_top", self.options["transformer-postprocess-top"], states, embedded)

    def log_probabilities(self, source_ids: Sequence[int], target_ids: Sequence[int]) -> Matrix:
        """Of every token at each step, given the target's tokens before it, [T, V]."""
        memory = self.encode(source_ids)
        shares = self.options["tied-embeddings-all"] or self.options["tied-embeddings-src"]
        table = self.arrays["Wemb" if shares else "decoder_Wemb"]
        history = np.concatenate([np.zeros((1, table.shape[1])), table[list(target_ids)[:-1]]])
        embedded = self._embed(history, first_position=0)
        states = self._operate("decoder_emb", "_pre", self.options["transformer-postprocess-emb"], embedded)
        numbers = self.options["transformer-tied-layers"] or range(1, self.options["dec-depth"] + 1)
        for number in numbers:
            prefix = f"decoder_l{number}"
            if self.options["transformer-decoder-autoreg"] == "rnn":
                states = self._recur(f"{prefix}_rnn", states)
            else:
                later = np.triu(np.full((len(states), len(states)), -np.inf), 1)
                states = self._self_attention(f"{prefix}_self", states, later)
            look = partial(self._attend, f"{prefix}_context", memory=memory, mask=0.0)
            states = self._sublayer(f"{prefix}_context_Wo", states, look)
            states = self._feed_forward(f"{prefix}_ffn", states)
        states = self._after("decoder_top", self.options["transformer-postprocess-top"], states, embedded)
        return _log_softmax(self._logits(states))

    def greedy(
        self, source_ids: Sequence[int], max_tokens: int, eos_id: int, forbidden: Sequence[int]
    ) -> list[int]:
        """Best tokens one by one, without the end of sentence; some are forbidden after the softmax."""
        target: list[int] = []
        for _ in range(max_tokens):
            last = self.log_probabilities(source_ids, [*target, eos_id])[-1]  # its own last token is not read
            last[list(forbidden)] = -np.inf
            best = int(last.argmax())
            if best == eos_id:
                break
            target.append(best)
        return target

    def _logits(self, states: Matrix) -> Matrix:
        options = self.options
        if options["tied-embeddings-all"] or (options["tied-embeddings-src"] and options["tied-embeddings"]):
            logits = states @ self.arrays["Wemb"].T
        elif options["tied-embeddings"]:
            logits = states @ self.arrays["decoder_Wemb"].T
        elif "decoder_ff_logit_out_W" in self.arrays:
            logits = states @ self.arrays["decoder_ff_logit_out_W"]
        else:
            logits = states @ self.arrays["decoder_ff_logit_out_Wt"].T
        return logits if options["output-omit-bias"] else logits + self.arrays["decoder_ff_logit_out_b"]

    def _embed(self, vectors: Matrix, first_position: int) -> Matrix:
        length, width = vectors.shape
        places = np.arange(first_position, first_position + length)
        if "Wpos" in self.arrays:
            return vectors + self.arrays["Wpos"][places]
        half = width // 2
        rates = np.exp(-math.log(10000.0) * np.arange(half) / (half - 1))
        angles = places[:, None] * rates
        signal: Matrix = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
        return math.sqrt(width) * vectors + signal

    def _operate(self, name: str, suffix: str, operations: str, states: Matrix) -> Matrix:
        for operation in operations.replace("d", ""):
            assert operation == "n"
            states = self._norm(name, suffix, states)
        return states

    def _after(self, name: str, operations: str, states: Matrix, before: Matrix) -> Matrix:
        for operation in operations.replace("d", ""):
            states = states + before if operation == "a" else self._norm(name, "", states)
        return states

    def _norm(self, name: str, suffix: str, states: Matrix) -> Matrix:
        centred = states - states.mean(axis=-1, keepdims=True)
        deviation = np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
        scale, bias = self.arrays[f"{name}_ln_scale{suffix}"], self.arrays[f"{name}_ln_bias{suffix}"]
        result: Matrix = scale * (centred / deviation) + bias
        return result

    def _sublayer(
        self, name: str, states: Matrix, run: Callable[[Matrix], Matrix], after_name: str | None = None
    ) -> Matrix:
        return self._after(after_name or name, self.options["transformer-postprocess"], run(states), states)

    def _self_attention(self, prefix: str, states: Matrix, mask: Matrix) -> Matrix:
        return self._sublayer(f"{prefix}_Wo", states, lambda x: self._attend(prefix, x, x, mask))

    def _attend(self, prefix: str, queries: Matrix, memory: Matrix, mask: Matrix | float) -> Matrix:
        heads = self.options["transformer-heads"]

        def split(letter: str, states: Matrix) -> Matrix:
            mapped = states @ self.arrays[f"{prefix}_W{letter}"] + self.arrays[f"{prefix}_b{letter}"]
            return mapped.reshape(len(states), heads, -1).transpose(1, 0, 2)

        query, key, value = split("q", queries), split("k", memory), split("v", memory)
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(query.shape[-1]) + mask
        joined = (np.exp(_log_softmax(scores)) @ value).transpose(1, 0, 2).reshape(len(queries), -1)
        return joined @ self.arrays[f"{prefix}_Wo"] + self.arrays[f"{prefix}_bo"]

    def _feed_forward(self, prefix: str, states: Matrix) -> Matrix:
        def run(inputs: Matrix) -> Matrix:
            inner = inputs @ self.arrays[f"{prefix}_W1"] + self.arrays[f"{prefix}_b1"]
            activated = _activate(self.options["transformer-ffn-activation"], inner)
            return activated @ self.arrays[f"{prefix}_W2"] + self.arrays[f"{prefix}_b2"]

        return self._sublayer(f"{prefix}_ffn", states, run)

    def _recur(self, prefix: str, states: Matrix) -> Matrix:
        def run(inputs: Matrix) -> Matrix:
            cell = np.zeros(inputs.shape[1])
            outputs = []
            for vector in inputs:
                gate = _sigmoid((vector @ self.arrays[f"{prefix}_Wf"] + self.arrays[f"{prefix}_bf"])[0])
                cell = gate * cell + (1 - gate) * (vector @ self.arrays[f"{prefix}_W"])
                outputs.append(np.maximum(cell, 0.0))
            return np.stack(outputs)

        return self._sublayer(prefix, states, run, f"{prefix}_ffn")


def _activate(name: str, values: Matrix) -> Matrix:
    if name == "relu":
        return np.maximum(values, 0.0)
    return values * _sigmoid({"swish": 1.0, "gelu": 1.702}[name] * values)


def _sigmoid(values: Matrix) -> Matrix:
    return 1.0 / (1.0 + np.exp(-values))


def _log_softmax(values: Matrix) -> Matrix:
    shifted = values - values.max(axis=-1, keepdims=True)
    result: Matrix = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return result
