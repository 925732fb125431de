"""Compare the greedy output of an imported model with CTranslate2's, converted from the same folder."""

import shutil
from pathlib import Path
from typing import Any

from bench.command import Command, Options, show
from bench.models import run_peer
from dragoman import DecodingOptions, Translator
from dragoman.bundle import read_bundle
from dragoman.loading import open_tokenizers
from dragoman.pipeline.preparation import Preparer
from dragoman.reading.reader import Reader
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
    files = {"original": str(folder), "folder": str(converted)}
    request = {**files, "sources": sources, "begin": begin, "max_tokens": max_tokens}
    found: list[list[int]] = run_peer("search", request)
    return found


def main() -> None:
    options: Options = {"folder of Hugging Face": Path, "bundle exported from it in fp32": Path}
    options |= {"--converted": Path("runs/bench") / CONVERTED}
    command = Command("sameness", __doc__, options)
    arguments = command.parse()
    shutil.rmtree(arguments.converted, ignore_errors=True)
    bundle = read_bundle(arguments.bundle)
    languages, limits = bundle.manifest.languages, bundle.manifest.limits
    preparer = Preparer(languages, limits, Reader(open_tokenizers(bundle)[0]))
    most = min(MAX_TOKENS, limits.max_target_tokens)
    rows: list[dict[str, Any]] = []
    for text in choose_texts(languages, None, str(arguments.folder)):
        encoded = preparer.encode(text.lines(), text.pair)
        sources = [ids for ids in encoded if len(ids) <= limits.max_source_tokens]
        found = ours(arguments.bundle, sources, text.pair, most)
        expected = theirs(arguments.folder, arguments.converted, sources, preparer.begin(text.pair), most)
        equal = sum(one == other for one, other in zip(found, expected, strict=True))
        row = {"pair": str(text.pair), "sentences": len(sources), "equal": equal}
        rows.append(row | {"distinct": len(set(map(tuple, found)))})
    show(rows)
    command.write(arguments.bundle, {"sameness": rows})


if __name__ == "__main__":
    main()
