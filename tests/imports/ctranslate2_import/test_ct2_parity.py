"""An imported model says what CTranslate2 says of the same folder, in greedy and in beam search.

With 4 beams, both exclude an end at the first token, but CTranslate2 gives its probability to the other
tokens. In models with random weights, that changes the order of a few hypotheses; in trained ones, of none.
"""

import json
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from bench.models import run_peer
from export.checkpoint_folder import SOURCE_TOKENIZER_FILE
from tests.imports.ctranslate2_import.ct2_golden import GOLDEN_FILE, NUM_GOLDEN, said_by_ctranslate2
from tests.imports.ctranslate2_import.ct2_imported import (
    PYTHON,
    Ids,
    import_folder,
    our_targets,
    their_targets,
)
from tests.imports.ctranslate2_import.ct2_written import (
    VARIANTS,
    Ct2Variant,
    sources_of,
    vocabularies_of,
    write_ct2_folder,
    write_sentencepiece,
)
from tests.imports.huggingface import make_models
from tests.imports.marian import written as marian_written
from tests.imports.marian.conftest import make_tokenizers, write_model
from tests.imports.marian.written import Variant
from tests.paths import ROOT
from tests.pieces import all_pieces, real_text

NUM_SOURCES = 200
MIN_EQUAL_BEAMS = 0.97
GREEDY, BEAMS = 1, 4

pytestmark = pytest.mark.skipif(
    not PYTHON.is_file(), reason="CTranslate2 is not there; `make .venv-bench/.peers` installs it"
)

Said = list[tuple[Ids, bool]]


def num_equal(ours: Said, theirs: Said) -> int:
    return sum(one == other for one, other in zip(ours, theirs, strict=True))


@pytest.mark.parametrize("name", VARIANTS)
def test_a_written_model_translates_the_same(name: str, tmp_path: Path) -> None:
    variant = VARIANTS[name]
    folder = write_ct2_folder(tmp_path / "original", variant)
    original = import_folder(folder, tmp_path / "bundle")
    sources = sources_of(variant, NUM_SOURCES)

    greedy, beams = (
        (
            our_targets(original, tmp_path / "bundle", sources, beam_size),
            said_by_ctranslate2(folder, variant, sources, beam_size),
        )
        for beam_size in (GREEDY, BEAMS)
    )

    assert greedy[0] == greedy[1]
    assert num_equal(*beams) >= MIN_EQUAL_BEAMS * NUM_SOURCES
    golden = json.loads(GOLDEN_FILE.read_text(encoding="utf8"))[name]
    assert [[ids, is_ended] for ids, is_ended in greedy[1][:NUM_GOLDEN]] == golden


@dataclass(frozen=True)
class Converted:
    """A folder that one of CTranslate2's converters made, with SentencePiece models added."""

    folder: Path
    sources: list[Ids]
    """Ids of pieces alone."""
    after: Sequence[str] = ()
    """Tokens that callers add to a source."""
    before: Sequence[str] = ()
    prefix: Sequence[str] = ()
    """Tokens that callers begin targets with."""

    def vocabularies(self) -> tuple[list[str], list[str]]:
        """Tokens of source and target."""
        shared = self.folder / "shared_vocabulary.json"
        paths = [
            shared if shared.is_file() else self.folder / f"{side}_vocabulary.json"
            for side in ("source", "target")
        ]
        source, target = (json.loads(path.read_text(encoding="utf8")) for path in paths)
        return source, target


def random_sources(first: int, end: int) -> list[Ids]:
    rng = np.random.default_rng(0)
    return [rng.integers(first, end, 1 + index % 12).tolist() for index in range(NUM_SOURCES)]


def convert(
    folder: Path, kind: str, quantization: str | None, tokenizers: Sequence[str], **vocabularies: list[str]
) -> Path:
    """Convert what is in `original`, and copy its tokenizers."""
    request = {"kind": kind, "original": str(folder / "original"), "folder": str(folder / "converted")}
    script = Path(__file__).with_name("ct2_converters.py")
    done = subprocess.run(
        [PYTHON, script],
        input=json.dumps({**request, "quantization": quantization, **vocabularies}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for name in tokenizers:
        shutil.copy(folder / "original" / name, folder / "converted")
    return folder / "converted"


def convert_marian(folder: Path, variant: Variant) -> Converted:
    model = write_model(folder / "original", variant, make_tokenizers(), seed=5)
    converted = convert(folder, "marian", None, ("source.spm", "target.spm"))
    return Converted(converted, random_sources(2, len(model.source_pieces)))


def convert_opennmt_py(folder: Path, quantization: str | None) -> Converted:
    (folder / "original").mkdir()
    variant = Ct2Variant(is_shared=False)
    source, target = vocabularies_of(variant)
    converted = convert(folder, "opennmt-py", quantization, (), source=source, target=target)
    write_sentencepiece(converted, variant)
    return Converted(converted, sources_of(variant, NUM_SOURCES))


def convert_opus(folder: Path) -> Converted:
    make_models.write_marian(folder / "original")
    converted = convert(folder, "transformers", None, ("source.spm", "target.spm"))
    return Converted(converted, random_sources(3, 250), after=("</s>",))


def convert_nllb(folder: Path, quantization: str | None) -> Converted:
    # Tied and multiplied by the root of the width, random tables would repeat the last token.
    varied = {"scale_embedding": False, "tie_word_embeddings": False}
    make_models.write_nllb(folder / "original", varied)
    converted = convert(folder, "transformers", quantization, ("sentencepiece.bpe.model",))
    return Converted(converted, random_sources(4, 400), ("</s>",), ("deu_Latn",), ("eng_Latn",))


def convert_trained(folder: Path, quantization: str) -> Converted:
    """Convert the small trained checkpoint of the tests, whose tokens get their names again."""
    checkpoint, converted = ROOT / "tests" / "tiny" / "checkpoint", folder / "converted"
    request = {"original": str(checkpoint), "folder": str(converted), "quantization": quantization}
    run_peer("convert-checkpoint", request)
    tokenizer = checkpoint / SOURCE_TOKENIZER_FILE
    tokens = all_pieces(tokenizer)
    (converted / "shared_vocabulary.json").write_text(json.dumps(tokens), encoding="utf8")
    path = converted / "config.json"
    settings = json.loads(path.read_text(encoding="utf8"))
    named = {
        name: tokens[int(token)] if name.endswith("_token") else token for name, token in settings.items()
    }
    path.write_text(json.dumps({**named, "add_source_eos": True}), encoding="utf8")
    shutil.copy(tokenizer, converted / "sentencepiece.model")
    import sentencepiece  # noqa: PLC0415 -- only here

    processor = sentencepiece.SentencePieceProcessor(model_file=str(tokenizer))
    lines = (real_text("de") * 2)[:NUM_SOURCES]
    return Converted(converted, [processor.encode(line)[:40] for line in lines])


CONVERTED: dict[str, Callable[[Path], Converted]] = {
    "marian": lambda folder: convert_marian(folder, Variant()),
    "marian-pre": lambda folder: convert_marian(
        folder,
        Variant(preprocess="n", postprocess="da", top="n", embedding="nd", activation="swish", tying="none"),
    ),
    "opennmt-py": lambda folder: convert_opennmt_py(folder, None),
    "opennmt-py-int8": lambda folder: convert_opennmt_py(folder, "int8"),
    "opus-mt": convert_opus,
    "nllb": lambda folder: convert_nllb(folder, None),
    "nllb-float16": lambda folder: convert_nllb(folder, "float16"),
    "trained": lambda folder: convert_trained(folder, "float32"),
    "trained-int8": lambda folder: convert_trained(folder, "int8"),
    "trained-int16": lambda folder: convert_trained(folder, "int16"),
}


@pytest.mark.parametrize("name", CONVERTED)
def test_a_converted_model_translates_the_same(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marian_written, "D_MODEL", 32)  # heads of 8, as bundles need
    converted = CONVERTED[name](tmp_path)
    original = import_folder(converted.folder, tmp_path / "bundle")
    vocabularies = converted.vocabularies()
    before, after = (
        [vocabularies[0].index(token) for token in tokens] for tokens in (converted.before, converted.after)
    )
    complete = [[*before, *source, *after] for source in converted.sources]

    greedy, beams = (
        (
            our_targets(original, tmp_path / "bundle", converted.sources, beam_size),
            their_targets(converted.folder, vocabularies, complete, converted.prefix, beam_size),
        )
        for beam_size in (GREEDY, BEAMS)
    )

    assert greedy[0] == greedy[1]
    assert len({tuple(ids) for ids, _ in greedy[1]}) > 10
    assert num_equal(*beams) >= (1.0 if "trained" in name else MIN_EQUAL_BEAMS) * NUM_SOURCES
