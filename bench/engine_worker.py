"""Worker that runs Dragoman behind the same protocol as the other engines.

`python -m bench.engine_worker SETUP`
"""

import dataclasses
from importlib.metadata import version

from bench.peers.protocol import Ids, Search, Setup, run_worker
from dragoman import DecodingOptions, Translator


class Dragoman:
    """A bundle with `workers` replicas of one thread each."""

    def __init__(self, setup: Setup) -> None:
        options = dict(setup.options)
        kernels = options.pop("kernels", "auto")
        self._decoding = options
        self._translator = Translator.open(setup.model, replicas=setup.workers, threads=1, kernels=kernels)

    def search(self, sources: list[Ids], search: Search) -> list[Ids]:
        found = self._translator.search(sources, self._options(search))
        return [list(hypotheses[0].ids) for hypotheses in found]

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
