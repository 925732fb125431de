"""Translation of a file with CTranslate2's iterable translation, for `bench.batch`.

`python -m bench.peers.ctranslate2_file SETTINGS`. SETTINGS is a JSON object with model, tokenizer, workers,
beam_size, source, target.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sentencepiece

from bench.peers.ctranslate2_worker import EOS_ID, open_translator


def translate_file(settings: dict[str, Any]) -> None:
    """Translate line by line; lines are read, tokenized, decoded and written as a stream."""
    processor = sentencepiece.SentencePieceProcessor(model_file=settings["tokenizer"])
    translator = open_translator(settings["model"], "int8", settings["workers"])

    def sources() -> Iterator[list[str]]:
        with Path(settings["source"]).open(encoding="utf8") as lines:
            for line in lines:
                yield [str(token) for token in [*processor.encode(line.rstrip("\n")), EOS_ID]]

    results = translator.translate_iterable(
        sources(), max_batch_size=32, beam_size=settings["beam_size"], max_input_length=0
    )
    with Path(settings["target"]).open("w", encoding="utf8") as target:
        target.writelines(
            processor.decode([int(token) for token in result.hypotheses[0]]) + "\n" for result in results
        )


if __name__ == "__main__":
    translate_file(json.loads(sys.argv[1]))
