"""What cannot be imported is rejected by name, with all reasons at once."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from export.marian import recognises
from export.sources import load_original
from tests.imports.export.rejections import ANY, GERMAN_TO_ENGLISH, problems_of
from tests.imports.marian.conftest import Written
from tests.imports.marian.written import save_npz, save_vocabulary

VOCABULARY = "opus.spm32k-spm32k.vocab.yml"

OPTIONS = {
    "transformer-preprocess": ('"n"',),  # beside a norm after the sum
    "transformer-postprocess": ('"da"', '"dhn"', '"dar"'),  # the first: no norm at all
    "transformer-decoder-autoreg": ('"average-attention"',),
    "transformer-ffn-activation": ('"mish"',),
    "transformer-ffn-depth": ("3",),
    "transformer-decoder-ffn-depth": ("1",),
    "transformer-postprocess-emb": ('"nn"',),
    "transformer-postprocess-top": ('"an"',),
    "transformer-no-projection": ("true",),
    "transformer-pool": ("true",),
    "transformer-no-bias": ("true",),
    "transformer-no-affine": ("true",),
    "transformer-disable-position-embeddings": ("true",),
    "transformer-attention-mask": ('"alibi"',),
    "transformer-alibi-trainable": ("true",),
    "transformer-tied-layers": ("[1]",),
    "transformer-heads": ('"eight"', "3"),
    "type": ('"s2s"', '"multi-transformer"'),
    "right-left": ("true",),
    "input-types": ('["sequence", "class"]',),
    "ulr": ("true",),
    "lemma-dim-emb": ("2",),
    "lemma-dependency": ('"re-embedding"',),
    "factors-combine": ('"concat"',),
    "special-vocab": ("[3]",),
    "separator-symbol": ('"[eos]"',),
    "dim-vocabs": ("[10, 10]", "[10, 10, 10]"),
    "dim-emb": ("-16",),
    "enc-depth": ("1000000000",),
    "something-new": ('"on"',),
}
RECURRENT = '"transformer-decoder-autoreg": "rnn", "dec-cell": "ssru"'
REJECTED_OPTIONS = [
    *(
        (f'{{"{name}": {value}}}', name.removeprefix("transformer-"))
        for name in OPTIONS
        for value in OPTIONS[name]
    ),
    ('{"transformer-preprocess": "n", "transformer-postprocess": "da"}', "transformer-preprocess 'n'"),
    ('{"transformer-decoder-autoreg": "rnn", "dec-cell": "gru"}', "dec-cell"),
    (f'{{{RECURRENT}, "layer-normalization": true}}', "layer-normalization"),
    (f'{{{RECURRENT}, "transformer-rnn-projection": true}}', "transformer-rnn-projection"),
    ('{"layer-normalization": true}', ""),
    ('{"skip": true}', ""),
    ('{"dec-cell": "lstm"}', ""),
    ('{"transformer-guided-alignment-layer": "2"}', ""),
    ('{"transformer-depth-scaling": true}', ""),
    ('{"transformer-rnn-projection": false}', ""),
    ('{"input-types": ["sequence", "sequence"]}', ""),
    ('{"dim-vocabs": [0, 0]}', ""),
    ('{"something-new": false}', ""),
    ('{"transformer-tied-layers": null}', ""),
]
"""Options, and what names the one at fault; nothing where they have no effect."""


@pytest.mark.parametrize(("options", "named"), REJECTED_OPTIONS)
def test_an_unsupported_option_is_rejected_by_name_and_one_without_effect_is_not(
    options: str, named: str, written: Written
) -> None:
    written.save(options=json.loads(options))

    if named:
        assert any(named in problem for problem in problems_of(written.folder))
    else:
        load_original(written.folder, GERMAN_TO_ENGLISH)


TEN = ", ".join(["*a{}"] * 10)
BOMB = "\n".join(
    ["a0: &a0 {x: 1}", *(f"a{n}: &a{n} [{TEN.replace('{}', str(n - 1))}]" for n in range(1, 12))]
)
ALIASES = "decoder.yml has aliases (*), which are not supported"
FILES = [
    *(
        ("decoder.yml", content, named)
        for content, named in (
            (BOMB, ALIASES),
            ("a: &a [*a]", ALIASES),
            ('{"models": ["a.npz", "b.npz"]}', "ensemble"),
            ('{"models": ["model.intgemm.alphas.bin"]}', "binary format"),
            ('{"vocabs": ["/elsewhere/gone.yml", "/elsewhere/gone.yml"]}', "gone.yml"),
            ('{"vocabs": ["opus.npz", "opus.npz"]}', "opus.npz"),
            ('{"vocabs": ["a.yml", "b.yml", "c.yml"]}', "3 vocabularies"),
            ('{"normalize": true}', "normalize"),
            ('{"output-sampling": true}', "output-sampling"),
        )
    ),
    ("source.bpe", "#version: 0.2\n", "source.bpe"),
    ("*.spm *vocab*", None, "no vocabulary found"),
    *(
        ("options", content, "")
        for content in (
            "- a list",
            "type: [",
            "!!python/object/apply:os.getcwd []",
            "type: !!python/name:os.getcwd",
            "[" * 1000 + "]" * 1000,
            "a: &a [x, x]\nb: &b [*a, *a]\ntype: *b",
            "dim-emb: 2020-01-01",
            "",
        )
    ),
]
"""Files with another content, or none, and what names the problem; `options` are those of the model."""


@pytest.mark.parametrize(("name", "content", "named"), FILES, ids=lambda value: str(value)[:20])
def test_an_unsupported_or_missing_file_is_rejected_by_name(
    name: str, content: str | None, named: str, written: Written
) -> None:
    if content is None:
        for path in [path for pattern in name.split() for path in written.folder.glob(pattern)]:
            path.unlink()
    elif name == "options":
        save_npz(written.folder / "opus.npz", written.arrays, content)
    else:
        written.write(name, content)

    assert recognises(written.folder)
    assert any(named in problem for problem in problems_of(written.folder))


def test_all_reasons_are_reported_at_once(written: Written) -> None:
    written.save(
        {"encoder_l1_self_Wq": np.zeros((2, 2), np.int8)},
        {"transformer-pool": True, "transformer-ffn-activation": "mish", "right-left": True},
    )
    written.write("decoder.yml", "beam-size: 99\nword-penalty: 0.5\nnormalize: -1\n")
    written.write(VOCABULARY, "a: 0\nb: 1\n")

    found = "\n".join(problems_of(written.folder, ANY))

    for named in (
        *("transformer-pool", "mish", "right-left", "quantised", "beam-size", "word-penalty", "normalize"),
        *("</s> and <unk>",),
    ):
        assert named in found


def test_missing_extra_and_misshapen_arrays_are_named(written: Written) -> None:
    changed = dict(written.arrays)
    del changed["decoder_l1_context_Wk"]
    changed["decoder_l2_ffn_b1"] = np.zeros((1, 3), np.float32)
    changed["decoder_l1_context_enc2_Wq"] = np.zeros((16, 16), np.float32)
    save_npz(written.folder / "opus.npz", changed, written.options)

    found = problems_of(written.folder)

    assert len(found) == 3
    assert "decoder_l1_context_Wk is missing" in found[0]
    assert "decoder_l2_ffn_b1 has shape [1, 3], its options need [1, 24]" in found[1]
    assert "decoder_l1_context_enc2_Wq belongs to a part that is not supported" in found[2]


def _with_one_more_piece(written: Written) -> None:
    save_vocabulary(written.folder / VOCABULARY, [*written.source_pieces, "one more"])


def _with_longer_target(written: Written) -> None:
    written.save(options={"dim-vocabs": [0, 0]})
    save_vocabulary(written.folder / "longer.vocab.yml", [*written.source_pieces, "one more"])
    written.write("decoder.yml", f"vocabs: [{VOCABULARY}, longer.vocab.yml]\n")


def _without_options(written: Written) -> None:
    save_npz(written.folder / "opus.npz", written.arrays, None)
    written.write("decoder.yml", "models: [opus.npz]\n")


def _with_two_models(written: Written) -> None:
    (written.folder / "other.npz").write_bytes((written.folder / "opus.npz").read_bytes())


@pytest.mark.parametrize(
    ("change", "named"),
    [
        (_with_one_more_piece, ("dim-vocabs", "Wemb has shape")),
        (_with_longer_target, ("differ in size",)),
        (_without_options, ("special:model.yml is missing",)),
        (_with_two_models, ("opus.npz, other.npz",)),
    ],
)
def test_files_that_do_not_go_together_are_rejected_by_name(
    change: Callable[[Written], None], named: Sequence[str], written: Written
) -> None:
    change(written)

    assert recognises(written.folder)
    problems = problems_of(written.folder)
    assert all(any(name in problem for problem in problems) for name in named)


def test_yaml_tags_do_not_run_code(written: Written, tmp_path: Path) -> None:
    proof = tmp_path / "proof"
    attack = f'type: !!python/object/apply:os.mkdir ["{proof}"]\n'
    save_npz(written.folder / "opus.npz", written.arrays, attack)
    written.write("decoder.yml", attack)

    problems_of(written.folder)

    assert not proof.exists()


def test_the_settings_choose_one_of_two_models(written: Written) -> None:
    _with_two_models(written)
    written.write("decoder.yml", "models: [/training/opus.npz]\n")

    load_original(written.folder, GERMAN_TO_ENGLISH)


def test_other_folders_are_not_recognised_as_marian(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf8")
    (tmp_path / "numbers.npz").write_bytes(b"PK nothing")
    with (tmp_path / "array.npz").open("wb") as file:
        np.savez(file, numbers=np.zeros(3))
    (tmp_path / "decoder.yml").write_text("beam-size: 3\n", encoding="utf8")

    assert not recognises(tmp_path)
    assert not recognises(tmp_path / "array.npz")
    assert not recognises(tmp_path / "nowhere")
