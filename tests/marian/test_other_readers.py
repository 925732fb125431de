"""CTranslate2 reads Marian's format too, and translates the same."""

import json
import math
import subprocess
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from bench.models import PEERS_PYTHON
from export.marian import load
from export.model import Transformer
from export.model.generate import generate_greedy, pad
from export.original import RequestedLanguages
from tests.marian.conftest import Tokenizers, write_model
from tests.marian.written import D_MODEL, DECODER_FFN, Variant, save_npz
from tests.pieces import ROOT

PYTHON = ROOT / PEERS_PYTHON
NUM_SOURCES = 40
MAX_TOKENS = 12

pytestmark = pytest.mark.skipif(
    not PYTHON.is_file(), reason=f"CTranslate2 is in {PEERS_PYTHON}, which `make bench` builds"
)


@pytest.mark.parametrize(
    "variant",
    [
        Variant(decoder_ffn=DECODER_FFN),
        Variant(embedding="nd", activation="swish", tying="none"),
        Variant(activation="gelu", tying="none", has_legacy_output=True),
    ],
    ids=["post", "embedding norm", "legacy"],
)
def test_ctranslate2_finds_the_same_translation(
    variant: Variant, tmp_path: Path, tokenizers: Tokenizers
) -> None:
    written = write_model(tmp_path / "model", variant, tokenizers, seed=5)
    rng = np.random.default_rng(0)
    sources = [
        [*rng.integers(2, len(written.source_pieces), length).tolist(), 0]
        for length in range(1, NUM_SOURCES + 1)
    ]
    model = Transformer.from_weights(load(written.folder, RequestedLanguages(("de",), ("en",))).model)

    ours = generate_greedy(model, *pad(sources, model.config.pad_id), MAX_TOKENS)

    # Its own table of sines is not Marian's; it scales token vectors whatever the table.
    save_npz(tmp_path / "marian.npz", {**written.arrays, "Wpos": _marians_sines(64)}, written.options)
    vocabularies = sorted(written.folder.glob("*vocab.yml"))  # src before trg
    pieces = [[written.source_pieces[token] for token in source[:-1]] for source in sources]
    script = Path(__file__).with_name("ctranslate2_reads.py")
    files = (tmp_path / "marian.npz", vocabularies[0], vocabularies[-1], tmp_path / "converted", MAX_TOKENS)
    done = subprocess.run(
        [str(part) for part in (PYTHON, script, *files)],
        input=json.dumps(pieces),
        capture_output=True,
        text=True,
        check=True,
    )
    theirs = [[written.target_pieces.index(piece) for piece in target] for target in json.loads(done.stdout)]
    assert ours == theirs


def _marians_sines(num_positions: int) -> NDArray[np.float32]:
    half = D_MODEL // 2
    angles = np.arange(num_positions)[:, None] * np.exp(-math.log(10_000) * np.arange(half) / (half - 1))
    return np.concatenate([np.sin(angles), np.cos(angles)], axis=1).astype(np.float32)
