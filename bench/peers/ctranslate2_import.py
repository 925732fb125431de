"""Convert a Hugging Face folder with CTranslate2 and search with it, in the peers' environment.

`python -m bench.peers.ctranslate2_import FOLDER CONVERTED` reads {"sources", "begin", "max_tokens"} as JSON
from standard input (sources and begin are ids) and writes the best targets' ids.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import ctranslate2
import transformers


def convert(folder: Path, converted: Path, quantization: str | None = None) -> None:
    """Convert the folder, in float32 by default, unless it is converted already."""
    if not converted.is_dir():
        converter = ctranslate2.converters.TransformersConverter(str(folder))
        converter.convert(str(converted), quantization=quantization)


def number_tokens(converted: Path) -> None:
    """Rename tokens to their ids in decimal, as `ctranslate2_worker` expects."""
    vocabulary, config = converted / "shared_vocabulary.json", converted / "config.json"
    number_of = {
        token: str(index) for index, token in enumerate(json.loads(vocabulary.read_text(encoding="utf8")))
    }
    settings = json.loads(config.read_text(encoding="utf8"))
    for name, token in settings.items():
        if name.endswith("_token"):
            settings[name] = number_of.get(token, token)
    vocabulary.write_text(json.dumps(list(number_of.values())), encoding="utf8")
    config.write_text(json.dumps(settings), encoding="utf8")


def search(folder: Path, converted: Path, request: dict[str, Any]) -> list[list[int]]:
    """Search greedily; return target ids without the forced beginning and the end of sentence."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    engine = ctranslate2.Translator(str(converted), compute_type="float32", intra_threads=1)
    forced = tokenizer.convert_ids_to_tokens(request["begin"][1:])
    results = engine.translate_batch(
        [tokenizer.convert_ids_to_tokens(source) for source in request["sources"]],
        target_prefix=[forced] * len(request["sources"]) if forced else None,
        beam_size=1,
        max_decoding_length=request["max_tokens"] + len(forced),
        max_batch_size=16,
    )
    return [tokenizer.convert_tokens_to_ids(result.hypotheses[0][len(forced) :]) for result in results]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.peers.ctranslate2_import")
    parser.add_argument("folder", type=Path)
    parser.add_argument("converted", type=Path)
    parser.add_argument("--only-convert", metavar="QUANTIZATION", help="with tokens called by their ids")
    arguments = parser.parse_args()
    convert(arguments.folder, arguments.converted, arguments.only_convert)
    if arguments.only_convert:
        number_tokens(arguments.converted)
        return 0
    json.dump(search(arguments.folder, arguments.converted, json.load(sys.stdin)), sys.stdout)
    return 0


if __name__ == "__main__":
    sys.exit(main())
