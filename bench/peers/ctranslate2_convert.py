"""Conversion to CTranslate2's format, and its greedy search, in the peers' environment.

`python -m bench.peers.ctranslate2_convert ACTION` reads the arguments of one of `ACTIONS` as JSON from
standard input and writes what it returns.
"""

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import ctranslate2
import transformers
from ctranslate2.converters.transformers import PegasusLoader

from bench.peers.checkpoint import load_pegasus

LAYER_NORM_EPSILON = 1e-5


def convert_checkpoint(original: str, folder: str, quantization: str) -> None:
    """Convert a checkpoint; its tokens are called by their ids in decimal, so that no tokenizer is needed."""
    model = load_pegasus(Path(original))
    spec = PegasusLoader().get_model_spec(model)
    tokens = [str(token) for token in range(model.config.vocab_size)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.config.unk_token = str(model.config.unk_token_id)
    spec.config.bos_token = spec.config.decoder_start_token = str(model.config.bos_token_id)
    spec.config.eos_token = str(model.config.eos_token_id)
    spec.config.layer_norm_epsilon = LAYER_NORM_EPSILON
    spec.validate()
    spec.optimize(quantization=quantization)
    Path(folder).mkdir(parents=True, exist_ok=True)
    spec.save(folder)


def search(
    original: str, folder: str, sources: list[list[int]], begin: list[int], max_tokens: int
) -> list[list[int]]:
    """Convert a Hugging Face folder in float32, unless it is converted already, and search greedily.

    Return target ids without the forced beginning and the end of sentence.
    """
    if not Path(folder).is_dir():
        ctranslate2.converters.TransformersConverter(original).convert(folder)
    tokenizer = transformers.AutoTokenizer.from_pretrained(original)
    engine = ctranslate2.Translator(folder, compute_type="float32", intra_threads=1)
    forced = tokenizer.convert_ids_to_tokens(begin[1:])
    results = engine.translate_batch(
        [tokenizer.convert_ids_to_tokens(source) for source in sources],
        target_prefix=[forced] * len(sources) if forced else None,
        beam_size=1,
        max_decoding_length=max_tokens + len(forced),
        max_batch_size=16,
    )
    return [tokenizer.convert_tokens_to_ids(result.hypotheses[0][len(forced) :]) for result in results]


ACTIONS: Mapping[str, Callable[..., Any]] = {"convert-checkpoint": convert_checkpoint, "search": search}

if __name__ == "__main__":
    json.dump(ACTIONS[sys.argv[1]](**json.load(sys.stdin)), sys.stdout)
