"""An imported model beside CTranslate2: what both say to the same sources."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

from bench.models import PEERS_PYTHON
from dragoman import DecodingOptions, FinishReason, Translator
from dragoman.manifest import ModelLimits
from dragoman.types import Pair
from export.bundle import BundleMetadata, write_bundle
from export.original import Original
from export.sources import load_original
from tests.imports.export.rejections import GERMAN_TO_ENGLISH
from tests.paths import ROOT

PYTHON = ROOT / PEERS_PYTHON
LIMITS = ModelLimits(50, 50)
MAX_TOKENS = 24

Ids = list[int]


def import_folder(folder: Path, bundle: Path, precision: str = "fp32") -> Original:
    """Import a folder for German to English, without the validation that the command ends with."""
    original = load_original(folder, GERMAN_TO_ENGLISH)
    bundle.mkdir()
    write_bundle(bundle, original, precision, BundleMetadata(bundle.name, "none", LIMITS), [])
    return original


def our_targets(
    original: Original, bundle: Path, sources: Sequence[Ids], beam_size: int
) -> list[tuple[Ids, bool]]:
    """Return the ids of each target, and whether it ended; `sources` are pieces alone."""
    source, target = original.languages.sources["de"], original.languages.targets["en"]
    read = [[*target.source_before, *source.before, *pieces, *source.after] for pieces in sources]
    options = DecodingOptions(beam_size=beam_size, max_length=MAX_TOKENS, early_stopping=True)
    with Translator.open(bundle, replicas=1) as translator:
        found = translator.search(read, options, pair=Pair("de", "en"))
    return [([*best[0].ids], best[0].finish_reason is FinishReason.STOP) for best in found]


def their_targets(
    folder: Path,
    vocabularies: tuple[Sequence[str], Sequence[str]],
    sources: Sequence[Ids],
    prefix: Sequence[str],
    beam_size: int,
) -> list[tuple[Ids, bool]]:
    """Return the same of CTranslate2; `sources` are complete but for what its own settings add."""
    source, target = vocabularies
    request = {
        "folder": str(folder),
        "sources": [[source[index] for index in ids] for ids in sources],
        "prefix": [*prefix],
        "beam_size": beam_size,
        "max_tokens": MAX_TOKENS + len(prefix),
    }
    script = Path(__file__).with_name("ct2_peer.py")
    done = subprocess.run(
        [PYTHON, script], input=json.dumps(request), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    ids = {token: index for index, token in reversed(list(enumerate(target)))}
    found: list[tuple[Ids, bool]] = []
    for tokens in json.loads(done.stdout):
        said = tokens[len(prefix) :]
        is_ended = said[-1:] == ["</s>"]
        found.append(([ids[token] for token in said[: len(said) - is_ended]], is_ended))
    return found
