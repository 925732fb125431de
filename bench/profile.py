"""Where the time of a search goes: by kind of instruction of the native kernels, and outside of them.

`python -m bench.profile FOLDER` runs the forced workload with the bundle that `bench.models` prepared in
FOLDER.
The timer itself takes some 25 ns an instruction.
"""

import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from bench.command import Command, Options, show
from bench.contenders import pin
from bench.models import INT8, TOKENIZER
from bench.peers.protocol import Ids
from bench.workloads import FORCED_TOKENS, SENTENCES, forced, read_lines
from dragoman import DecodingOptions, Translator, search_model
from dragoman.native.model import NativeModel

SETTINGS = ((1, 1), (1, 4), (8, 1), (8, 4), (32, 1), (32, 4))
"""Batch sizes and beam sizes."""
RUNS = 5
ENCODER, OUTSIDE = "encoder", "outside"
GROUPS: Mapping[str, str] = {
    "linear": "products",
    "linear_add": "products",
    "linear_quantise": "products",
    "self_attention": "attention",
    "cross_attention": "attention",
    "score": "scores",
    "choose": "choice",
}
"""What a kind of the decoder's instructions counts as; the others are `rest`."""


def profile(bundle: Path, sources: Sequence[Ids], batch: int, beam_size: int) -> dict[str, Any]:
    """Return the shares of the time of searches, and microseconds a step without the encoder.

    Raises:
        ValueError: the native kernels cannot run the bundle here.
    """
    models: list[NativeModel] = []

    def load(*arguments: Any) -> NativeModel:
        models.append(NativeModel(*arguments))
        return models[-1]

    options = DecodingOptions(beam_size=beam_size, min_length=FORCED_TOKENS, max_length=FORCED_TOKENS)
    with patch.object(search_model, "NativeModel", load), Translator.open(bundle) as translator:
        if not models:
            raise ValueError(f"{bundle}: the native kernels cannot run it here")
        translator.search(sources[:batch], options)
        models[0].measure_times()
        began = time.perf_counter()
        for _ in range(RUNS):
            translator.search(sources[:batch], options)
        seconds = time.perf_counter() - began
    spent = sum_times(models[0].times_s())
    spent[OUTSIDE] = seconds - sum(spent.values())
    return {
        "batch": batch,
        "beam_size": beam_size,
        "ms_per_sentence": 1e3 * seconds / RUNS / batch,
        "us_per_step": 1e6 * (seconds - spent[ENCODER]) / RUNS / FORCED_TOKENS,
        "shares": {
            name: spent[name] / seconds
            for name in (ENCODER, *dict.fromkeys(GROUPS.values()), "rest", OUTSIDE)
        },
    }


def sum_times(times_s: Mapping[tuple[str, str], float]) -> dict[str, float]:
    """Sum seconds by graph and kind of instruction: the encoder as a whole, the decoder by group."""
    spent: defaultdict[str, float] = defaultdict(float)
    for (graph, kind), seconds in times_s.items():
        spent[ENCODER if graph == ENCODER else GROUPS.get(kind, "rest")] += seconds
    return spent


def main() -> None:
    options: Options = {"folder": Path, "--bundle default: FOLDER/int8": Path}
    command = Command("profile", __doc__, options)
    arguments = command.parse()
    bundle = arguments.bundle or arguments.folder / INT8
    pin(0, 1)
    most = max(batch for batch, _ in SETTINGS)
    sources = forced(read_lines(SENTENCES), arguments.folder / TOKENIZER, most).sources
    results = [profile(bundle, sources, *setting) for setting in SETTINGS]
    show(results)
    command.write(bundle, {"results": results})


if __name__ == "__main__":
    main()
