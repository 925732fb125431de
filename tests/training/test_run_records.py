"""The records of a run: history, plot, snapshots, resume points, validation scores."""

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
from training.callbacks import snapshot_paths
from training.config import Precision
from training.errors import HeldOutError, TrainingStopped
from training.history import Event, History
from training.machine import describe_machine, layer_dtype
from training.resume import resume_points
from training.stopping import StopRequest
from training.validation import HeldOut, validate

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
