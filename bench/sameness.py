"""Compare the greedy output of an imported model with CTranslate2's, converted from the same folder."""

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path

from bench.models import PEERS_PYTHON
from bench.provenance import provenance, write_result
from dragoman import DecodingOptions, Translator
from dragoman.bundle import read_bundle
from dragoman.loading import open_tokenizers
from dragoman.pipeline.preparation import Preparer
from dragoman.types import Pair
from export.samples import choose_texts

MAX_TOKENS = 60
CONVERTED = "ct2"


def ours(bundle: Path, sources: list[list[int]], pair: Pair, max_tokens: int) -> list[list[int]]:
    """Return the ids of greedy targets."""
    options = DecodingOptions(beam_size=1, max_length=max_tokens)
    with Translator.open(bundle, replicas=1) as translator:
        return [list(found[0].ids) for found in translator.search(sources, options, pair=pair)]


def theirs(
    folder: Path, converted: Path, sources: list[list[int]], begin: tuple[int, ...], max_tokens: int
) -> list[list[int]]:
    """Return the ids of CTranslate2's greedy targets."""
    command = [str(PEERS_PYTHON), "-m", "bench.peers.ctranslate2_import", str(folder), str(converted)]
    request = json.dumps({"sources": sources, "begin": begin, "max_tokens": max_tokens})
    done = subprocess.run(command, input=request, capture_output=True, text=True, check=False)  # noqa: S603 -- ours
    if done.returncode:
        raise SystemExit(done.stderr)
    found: list[list[int]] = json.loads(done.stdout)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.sameness", description=__doc__)
    parser.add_argument("folder", type=Path, help="a Hugging Face folder")
    parser.add_argument("bundle", type=Path, help="exported from it in fp32")
    parser.add_argument("--converted", type=Path, default=Path("runs/bench") / CONVERTED)
    parser.add_argument("--output", type=Path)
    arguments = parser.parse_args()
    shutil.rmtree(arguments.converted, ignore_errors=True)
    bundle = read_bundle(arguments.bundle)
    languages, limits = bundle.manifest.languages, bundle.manifest.limits
    preparer = Preparer(languages, limits, open_tokenizers(bundle)[0])
    most = min(MAX_TOKENS, limits.max_target_tokens)
    rows = []
    for text in choose_texts(languages, None, str(arguments.folder)):
        sources = [
            ids for ids in preparer.encode(text.lines(), text.pair) if len(ids) <= limits.max_source_tokens
        ]
        found = ours(arguments.bundle, sources, text.pair, most)
        expected = theirs(arguments.folder, arguments.converted, sources, preparer.begin(text.pair), most)
        equal = sum(one == other for one, other in zip(found, expected, strict=True))
        rows.append(
            {
                "pair": str(text.pair),
                "sentences": len(sources),
                "equal": equal,
                "distinct": len(set(map(tuple, found))),
            }
        )
        print(rows[-1])
    if arguments.output:
        command = f"python -m bench.sameness {arguments.folder} {arguments.bundle}"
        write_result(arguments.output, provenance(arguments.bundle, command), {"sameness": rows})
    return 0


if __name__ == "__main__":
    sys.exit(main())
