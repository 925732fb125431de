"""The records of a run, its settings, and token ids that are made once."""

import json
import os
import signal
from pathlib import Path

import pytest
import sacrebleu
import sentencepiece
import torch

from export.checkpoint import load_checkpoint
from tests.imports.export.rejections import message_of
from tests.paths import TINY
from tests.training.conftest import MADE, Pairs, Recipe
from training.callbacks import snapshot_paths
from training.config import Precision, TrainingConfig
from training.errors import HeldOutError, RunFolderError, TrainingStopped
from training.history import Event, History
from training.machine import describe_machine, layer_dtype
from training.prepare import prepare
from training.resume import resume_points
from training.stopping import StopRequest
from training.validation import HeldOut, validate
from training.variants.frames import INTERFACE
from training.vocabulary import load_vocabularies

EVENTS = [
    Event(20, 100, 1.5, loss=5.25),
    Event(30, 150, 2.5, bleu=11.5, chrf=30.0),
    Event(40, 200, 3.0, loss=4.5),
    Event(60, 300, 4.5, bleu=9.5, chrf=31.0),
]


def recorded(folder: Path) -> History:
    history = History(folder)
    for event in EVENTS:
        history.append(event)
    return history


def test_an_incomplete_last_history_line_is_ignored(tmp_path: Path) -> None:
    path = recorded(tmp_path).path
    path.write_bytes(path.read_bytes()[:-9])

    history = History(tmp_path)
    history.rewind(1000)
    history.append(EVENTS[3])

    assert History(tmp_path).events == EVENTS


def test_the_best_validation_has_the_highest_bleu(tmp_path: Path) -> None:
    assert History(tmp_path).best() is None
    assert recorded(tmp_path).best() == EVENTS[1]


@pytest.mark.parametrize("is_empty", [True, False])
def test_the_plot_is_a_png(tmp_path: Path, *, is_empty: bool) -> None:
    history = History(tmp_path) if is_empty else recorded(tmp_path)

    history.plot()

    content = (tmp_path / "history.png").read_bytes()
    assert content.startswith(b"\x89PNG\r\n")
    assert len(content) > 5000


def test_snapshots_and_resume_points_are_ordered_by_step_and_other_files_ignored(tmp_path: Path) -> None:
    folder = tmp_path / "resume"
    folder.mkdir()
    for name in ("00000900.ckpt", "00001000.ckpt", "00001000-v1.ckpt", "00002000.partial", "last.ckpt"):
        (folder / name).touch()
        (folder / f"step-{name[:8]}.pt").touch()

    assert [(point.path.name, point.step) for point in resume_points(tmp_path)] == [
        ("00000900.ckpt", 900),
        ("00001000-v1.ckpt", 1000),
        ("00001000.ckpt", 1000),
    ]
    assert [path.name for path in snapshot_paths(folder)][:2] == ["step-00000900.pt", "step-00001000.pt"]
    assert resume_points(tmp_path / "nowhere") == []


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_signal_is_recorded_and_handlers_are_restored(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    stop = StopRequest()

    with stop.listening():
        noted_before = stop.signal_number
        os.kill(os.getpid(), number)

    assert noted_before is None
    assert stop.signal_number == number
    assert signal.getsignal(number) is before
    assert f"stopped by {number.name} at step 7" in str(TrainingStopped(number, 7))


def test_held_out_lines_are_the_first_of_both_files(tmp_path: Path) -> None:
    source, target = tmp_path / "x.de", tmp_path / "x.en"
    source.write_text("eins\nzwei\u2028halb\ndrei\n", encoding="utf8")
    target.write_text("one\ntwo\nthree", encoding="utf8")

    assert HeldOut.read(source, target, 2) == HeldOut(("eins", "zwei\u2028halb"), ("one", "two"))
    assert len(HeldOut.read(source, target, 9).references) == 3


def test_unusable_held_out_files_are_named(tmp_path: Path) -> None:
    good, long, empty, bad = (tmp_path / name for name in ("good", "long", "empty", "bad"))
    good.write_text("one\n", encoding="utf8")
    long.write_text("one\ntwo\n", encoding="utf8")
    empty.touch()
    bad.write_bytes(b"\xff\n")

    for source, target, problem in (
        (good, long, f"{good} has 1 lines, {long} has 2"),
        (empty, good, f"{empty} is empty"),
        (good, bad, f"{bad}:1: not UTF-8"),
        (tmp_path / "nowhere", good, "nowhere: No such file or directory"),
    ):
        assert problem in message_of(HeldOutError, HeldOut.read, source, target, 5)


def tiny_pairs() -> HeldOut:
    lines = [line.split("\t") for line in (TINY / "pairs.tsv").read_text(encoding="utf8").splitlines()]
    return HeldOut(tuple(source for source, _ in lines), tuple(target for _, target in lines))


def test_a_held_out_source_that_is_too_long_is_named() -> None:
    processor = sentencepiece.SentencePieceProcessor(model_file=str(TINY / "checkpoint/source.spm"))
    held_out = HeldOut(("Hallo", "Ja " * 80), ("Hello", "Yes"))

    held_out.check_lengths(processor, 1000)
    with pytest.raises(HeldOutError, match=r"line 2 has \d+ tokens, over model.max_positions 64"):
        held_out.check_lengths(processor, 64)


def test_validation_scores_the_models_output_in_the_order_of_the_lines() -> None:
    checkpoint = load_checkpoint(TINY / "checkpoint")
    processor = sentencepiece.SentencePieceProcessor(model_file=str(checkpoint.source_tokenizer))
    held_out = tiny_pairs()
    model = checkpoint.model.train()

    scores = validate(model, held_out, processor, processor)

    assert scores.bleu > 95
    assert scores.chrf > 95
    assert model.training
    shuffled = sacrebleu.corpus_bleu(list(held_out.references[::-1]), [list(held_out.references)])
    assert shuffled.score < 30  # so the lines' order is what the score depends on


def test_the_machine_description_names_cpu_threads_and_torch() -> None:
    description = describe_machine(torch.device("cpu"), 3)

    assert "3 threads" in description
    assert f"torch {torch.__version__}" in description


@pytest.mark.parametrize(
    ("precision", "device", "capabilities", "expected"),
    [
        ("bf16-mixed", "cpu", {"avx512_bf16": True}, torch.bfloat16),
        ("bf16-mixed", "cpu", {"bf16": True}, torch.bfloat16),
        ("bf16-mixed", "cpu", {"avx2": True, "avx512_bf16": False}, torch.float32),
        ("bf16-mixed", "cuda", {}, torch.bfloat16),
        ("32-true", "cpu", {"avx512_bf16": True}, torch.float32),
    ],
)
def test_layers_are_in_bfloat16_only_where_the_processor_multiplies_it(
    precision: Precision, device: str, capabilities: dict[str, object], expected: torch.dtype
) -> None:
    assert layer_dtype(precision, torch.device(device), capabilities) == expected


OLD_RECIPE = Path(__file__).with_name("recipe-before-variants.json")
"""As it was written before there were more variants and generated corpora."""


def prepared(recipe: Recipe) -> list[set[tuple[str, str]]]:
    """The text of each corpus."""
    config = TrainingConfig.model_validate(recipe)
    corpora = prepare(config)
    source, target = load_vocabularies(config.run_dir / "data")
    return [
        {
            (source.decode(corpus.source(n).tolist()), target.decode(corpus.target(n).tolist()))
            for n in range(len(corpus))
        }
        for corpus in (weighted.tokenised for weighted in corpora)
    ]


@pytest.fixture
def old_folder(recipe: Recipe) -> Path:
    """A prepared run folder whose recipe.json is of before."""
    recipe["data"]["corpora"][0]["variants"] = {"lower_source": 0.03}
    prepare(TrainingConfig.model_validate(recipe))
    path = Path(recipe["run_dir"]) / "data" / "recipe.json"
    corpus = recipe["data"]["corpora"][0]["files"][0]
    path.write_text(OLD_RECIPE.read_text(encoding="utf8").rstrip().replace("FILE", corpus), encoding="utf8")
    return path


def test_a_folder_prepared_before_new_variants_existed_is_accepted_unchanged(
    recipe: Recipe, old_folder: Path
) -> None:
    before = {path.name: path.read_bytes() for path in old_folder.parent.iterdir()}

    prepare(TrainingConfig.model_validate(recipe))

    assert {path.name: path.read_bytes() for path in old_folder.parent.iterdir()} == before


@pytest.mark.parametrize(
    "variants",
    [{"lower_source": 0.03, "typo": 0.1}, {"lower_source": 0.04}, {"lower_source": 0.03, "single_words": 1}],
)
def test_a_folder_prepared_with_other_settings_is_rejected(
    recipe: Recipe, old_folder: Path, variants: dict[str, float]
) -> None:
    assert old_folder.exists()
    recipe["data"]["corpora"][0]["variants"] = variants

    with pytest.raises(RunFolderError, match="was prepared with another start_from or other"):
        prepare(TrainingConfig.model_validate(recipe))


@pytest.mark.parametrize("damaged", ["{", '{"start_from": null}', '{"of_tomorrow": 1}', "\xff"])
def test_an_unreadable_recorded_recipe_is_rejected(recipe: Recipe, old_folder: Path, damaged: str) -> None:
    old_folder.write_text(damaged, encoding="latin1")

    with pytest.raises(RunFolderError):
        prepare(TrainingConfig.model_validate(recipe))


def test_the_recorded_recipe_contains_every_setting(recipe: Recipe) -> None:
    config = TrainingConfig.model_validate(recipe)
    prepare(config)

    written = json.loads((config.run_dir / "data" / "recipe.json").read_text(encoding="utf8"))

    assert written == json.loads(
        config.model_dump_json(include={"start_from", "only_direction", "data", "vocabulary"})
    )


def test_a_run_of_one_direction_prepares_that_alone_or_reads_a_folder_of_both(
    recipe: Recipe, tmp_path: Path
) -> None:
    recipe["data"]["is_bidirectional"] = True
    both = prepared(recipe)

    [one] = prepared(recipe | {"only_direction": "en-de"})
    [alone] = prepared(recipe | {"only_direction": "en-de", "run_dir": str(tmp_path / "alone")})

    assert one == alone == both[1]
    assert [path.name for path in (tmp_path / "alone" / "data").glob("*.npz")] == ["tiny.en-de.npz"]
    with pytest.raises(RunFolderError):
        prepared(recipe | {"run_dir": str(tmp_path / "alone")})


def test_a_corpus_of_one_direction_is_read_in_no_other(recipe: Recipe) -> None:
    recipe["data"]["is_bidirectional"] = True
    file = recipe["data"]["corpora"][0]["files"][0]
    one_way = {"name": "one-way", "files": [file], "weight": 1.0, "licence": "", "direction": "en-de"}
    recipe["data"]["corpora"].append(one_way)

    forward, backward, only = prepared(recipe)

    assert only == backward != forward


@pytest.mark.parametrize("source_language", ["de", "en"])
def test_generated_corpora_and_copies_are_tokenised(
    recipe: Recipe, pairs: Pairs, source_language: str
) -> None:
    recipe["vocabulary"]["size"] = 700
    recipe["data"]["corpora"] += [MADE | {"generated_pairs": 300}]
    recipe["data"]["corpora"][0]["variants"] = {"upper": 0.999999999}
    is_reversed = source_language == "en"
    if is_reversed:
        recipe["data"] |= {"source_language": "en", "target_language": "de", "is_reversed": True}

    tiny, generated = prepared(recipe)

    german_first = [
        {pair[::-1] for pair in corpus} if is_reversed else corpus for corpus in (tiny, generated)
    ]
    assert german_first[0] == {*pairs, *((de.upper(), en.upper()) for de, en in pairs)}
    assert {(label.german, label.english) for label in INTERFACE} & german_first[1]


def test_a_run_from_a_checkpoint_reads_the_same_pairs_as_a_fresh_one(recipe: Recipe, tmp_path: Path) -> None:
    """A fresh run reads the text into memory for its vocabulary; one with a vocabulary never does."""
    recipe["vocabulary"]["size"] = 330
    recipe["data"]["corpora"][0]["variants"] = {"typo": 0.3, "lower_source": 0.3, "copied_beside": 0.3}
    first = prepared(recipe)

    second = {
        **recipe,
        "run_dir": str(tmp_path / "second"),
        "start_from": str(Path(recipe["run_dir"]) / "data"),
    }

    assert prepared(second) == first


def test_copies_and_generated_lines_depend_on_the_seed(recipe: Recipe, tmp_path: Path) -> None:
    recipe["data"]["corpora"][0]["variants"] = {"typo": 0.3}
    first = prepared(recipe)
    start = {**recipe, "start_from": str(Path(recipe["run_dir"]) / "data")}
    start["data"]["corpora"] += [MADE]
    results = []
    for name, seed in (("first", 1), ("again", 1), ("other", 2)):
        start["optimisation"]["seed"] = seed
        results.append(prepared({**start, "run_dir": str(tmp_path / name)}))

    assert results[0] == results[1]
    assert results[0][:1] == first
    assert results[0][0] != results[2][0]
    assert results[0][1] != results[2][1]
