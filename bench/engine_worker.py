"""Worker that runs Dragoman behind the same protocol as the other engines.

`python -m bench.engine_worker SETUP`
"""

import dataclasses
from functools import partial
from importlib.metadata import version

from bench.peers.arrivals import Front
from bench.peers.protocol import Ids, Search, Setup, run_worker
from bench.static_batches import StaticBatches
from dragoman import DecodingOptions, EngineRequest, Translator

STATIC_BATCH_SOURCES = 32
STATIC_WAIT_S = 0.005


class Dragoman:
    """A bundle with `workers` replicas of one thread each."""

    def __init__(self, setup: Setup) -> None:
        options = dict(setup.options)
        self._kernels = options.pop("kernels", "auto")
        self._decoding = options
        self._translator = Translator.open(
            setup.model, replicas=setup.workers, threads=1, kernels=self._kernels
        )
        self._setup = setup

    def search(self, sources: list[Ids], search: Search) -> list[Ids]:
        found = self._translator.search(sources, self._options(search))
        return [list(hypotheses[0].ids) for hypotheses in found]

    def front(self, name: str, search: Search) -> Front:
        options = self._options(search)
        if name == "submit":
            return Front(partial(self._translator.submit, request=EngineRequest(options)))
        if name == "static batches":
            # A separate engine for each batch, because one engine would merge two batches.
            engines = [
                Translator.open(self._setup.model, replicas=1, threads=1, kernels=self._kernels)
                for _ in range(self._setup.workers)
            ]
            calls = [lambda texts, engine=engine: engine.translate(texts, options) for engine in engines]
            batches = StaticBatches(calls, max_texts=STATIC_BATCH_SOURCES, wait_s=STATIC_WAIT_S)
            return Front(batches.submit, batches.close)
        raise ValueError(f"Dragoman has no front {name!r}")

    def versions(self) -> dict[str, str]:
        return {"onnxruntime": version("onnxruntime")}

    def _options(self, search: Search) -> DecodingOptions:
        options = DecodingOptions(
            beam_size=search.beam_size,
            length_penalty=search.length_penalty,
            min_length=search.min_length,
            max_length=search.max_length,
        )
        return dataclasses.replace(options, **self._decoding)


if __name__ == "__main__":
    run_worker(Dragoman)
