"""CTranslate2's own searches, run by the Python of the other engines: `python ct2_peer.py`.

Reads a JSON object from standard input: `folder` of the model, `sources` and `prefix` as lists of tokens,
`beam_size`, `max_tokens`. Writes the best target of each source, as tokens, with its end if it has one.
"""

import json
import sys
from typing import Any

import ctranslate2


def search(request: dict[str, Any]) -> list[list[str]]:
    translator = ctranslate2.Translator(
        request["folder"], device="cpu", compute_type="float32", intra_threads=1
    )
    prefix = request["prefix"]
    results = translator.translate_batch(
        request["sources"],
        target_prefix=[prefix] * len(request["sources"]) if prefix else None,
        beam_size=request["beam_size"],
        max_decoding_length=request["max_tokens"],
        min_decoding_length=len(prefix) + 1,
        max_input_length=0,
        max_batch_size=16,
        return_end_token=True,
    )
    return [result.hypotheses[0] for result in results]


if __name__ == "__main__":
    json.dump(search(json.load(sys.stdin)), sys.stdout)
