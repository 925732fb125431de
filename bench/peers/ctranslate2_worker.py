"""Worker that runs CTranslate2 behind the protocol: `python -m bench.peers.ctranslate2_worker SETUP`."""

import sys
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import ctranslate2

from bench.peers.arrivals import Front, PoolFront
from bench.peers.protocol import Ids, Search, read_setup, replies_on_stdout, serve

if TYPE_CHECKING:
    from sentencepiece import SentencePieceProcessor

EOS_ID = 3


class CTranslate2:
    """One model with `workers` replicas of one thread each."""

    def __init__(self, model: str, precision: str, workers: int, tokenizer: str | None) -> None:
        self._translator = ctranslate2.Translator(
            model, device="cpu", compute_type=precision, inter_threads=workers, intra_threads=1
        )
        self._workers = workers
        self._tokenizer_path = tokenizer

    def search(self, sources: list[Ids], search: Search) -> list[Ids]:
        results = self._translator.translate_batch(
            [[str(token) for token in source] for source in sources],
            beam_size=search.beam_size,
            length_penalty=search.length_penalty,
            min_decoding_length=search.min_length,
            max_decoding_length=search.max_length_for(sources),
            max_input_length=0,
        )
        return [[int(token) for token in result.hypotheses[0]] for result in results]

    def front(self, name: str, search: Search) -> Front:
        if name != "thread pool":
            raise ValueError(f"CTranslate2 has no front {name!r}")
        tokenizer = _load_tokenizer(self._tokenizer_path)

        def translate(text: str) -> str:
            source = [*tokenizer.encode(text), EOS_ID]
            target: str = tokenizer.decode(self.search([source], search)[0])
            return target

        return PoolFront(translate, self._workers)

    def versions(self) -> dict[str, str]:
        return {"ctranslate2": version("ctranslate2")}


def _load_tokenizer(path: str | None) -> "SentencePieceProcessor":
    from sentencepiece import SentencePieceProcessor  # noqa: PLC0415 -- only texts need it

    if path is None or not Path(path).is_file():
        raise ValueError("texts need a tokenizer")
    return SentencePieceProcessor(model_file=path)


def main() -> int:
    setup = read_setup(sys.argv[1:])
    with replies_on_stdout() as pipe:
        tokenizer = dict(setup.options).get("tokenizer")
        engine = CTranslate2(setup.model, setup.precision, setup.workers, tokenizer)
        serve(engine, setup.workers, pipe)
    return 0


if __name__ == "__main__":
    sys.exit(main())
