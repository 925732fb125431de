"""CTranslate2 reads a Marian model with its own converter: run by the Python of the other engines.

`python ctranslate2_reads.py NPZ SOURCE_VOCABULARY TARGET_VOCABULARY FOLDER MAX_TOKENS` takes sources as a
JSON list of lists of pieces from stdin and prints what greedy search finds, in the same form.
"""

import json
import sys

import ctranslate2
from ctranslate2.converters import MarianConverter


def main() -> int:
    npz, source_vocabulary, target_vocabulary, folder, max_tokens = sys.argv[1:]
    MarianConverter(npz, [source_vocabulary, target_vocabulary]).convert(folder)
    translator = ctranslate2.Translator(folder, device="cpu", compute_type="float32", intra_threads=1)
    results = translator.translate_batch(
        json.load(sys.stdin), beam_size=1, max_decoding_length=int(max_tokens), disable_unk=True
    )
    sys.stdout.write(json.dumps([result.hypotheses[0] for result in results]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
