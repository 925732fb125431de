"""Worker that runs CTranslate2 behind the protocol: `python -m bench.peers.ctranslate2_worker SETUP`."""

from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import ctranslate2

from bench.peers.protocol import Ids, Search, Setup, run_worker

EOS_ID = 3


def open_translator(model: str, precision: str, workers: int) -> Any:
    """Open a model with `workers` replicas of one thread each."""
    return ctranslate2.Translator(
        model, device="cpu", compute_type=precision, inter_threads=workers, intra_threads=1
    )


class CTranslate2:
    """One model with `workers` replicas of one thread each."""

    def __init__(self, setup: Setup) -> None:
        self._translator = open_translator(setup.model, setup.precision, setup.workers)
        self._tokenizer_path = setup.options["tokenizer"]

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

    def text_translator(self) -> Callable[[str, Search], str]:
        """Load the tokenizer, and return a function that translates a text."""
        from sentencepiece import SentencePieceProcessor  # noqa: PLC0415 -- only texts need it

        tokenizer = SentencePieceProcessor(model_file=self._tokenizer_path)

        def translate(text: str, search: Search) -> str:
            (target,) = self.search([[*tokenizer.encode(text), EOS_ID]], search)
            return str(tokenizer.decode(target))

        return translate

    def versions(self) -> dict[str, str]:
        return {"ctranslate2": version("ctranslate2")}


if __name__ == "__main__":
    run_worker(CTranslate2)
