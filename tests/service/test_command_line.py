"""The `dragoman` command with a double in the engine's place: options, and line in, line out."""

import io
import os
import re
import signal
import subprocess
import threading
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.cli.lines import defer_interrupts, translate_lines
from service.cli.score import write_scores
from service.formats.entries import Entry
from service.text.marked_text import MarkedText
from service.text.outcome import TextOutcome
from tests.engine.routing.doubles import write_bundle
from tests.service.conftest import Run


def test_files_may_stand_in_for_stdin_and_stdout(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_bytes(b"eins\nzwei\n")

    assert run("translate", "--file", "in.txt", "-o", "out.txt").stdout == b""

    assert (tmp_path / "out.txt").read_bytes() == b"EINS\nZWEI\n"
    assert run("translate", "-", stdin=b"eins").stdout == b"EINS"
    assert run("translate", "--file", "in.txt", "-o", "./in.txt").returncode == 2  # it would be emptied first
    assert (tmp_path / "in.txt").read_bytes() == b"eins\nzwei\n"


@pytest.mark.parametrize(
    ("stdin", "stdout", "problem", "status"),
    [
        (
            b"eins\nunusable\ndrei\n",
            b"EINS\nunusable\nDREI\n",
            b"line 2: is not usable; written unchanged\n",
            1,
        ),
        (b"eins\ndr\xe4i\n", b"EINS\n", b"line 2 is not UTF-8: byte 0xe4 at position 3", 2),
    ],
)
def test_a_line_with_an_error_stays_and_one_that_is_no_text_ends_the_output(
    run: Run, stdin: bytes, stdout: bytes, problem: bytes, status: int
) -> None:
    finished = run("translate", stdin=stdin)

    assert (finished.stdout, finished.returncode) == (stdout, status)
    assert finished.stderr.startswith(b"dragoman: " + problem)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translate", "--beam-size", "99"], "beam_size: 99 is not between 1 and 32"),
        (["translate", "--length-penalty", "nan"], "length_penalty: nan is not"),
        (["translate", "--model", "absent"], "bundle absent: neither a folder nor"),
        (["translate", "--file", "absent.txt"], "absent.txt: no such file or directory"),
        (["translate", "-o", "absent/out.txt"], "absent/out.txt: no such file or directory"),
        (["translate", "-o", "/dev/full"], "No space left on device"),
        (["translate", "--config", "absent.toml"], "absent.toml does not exist"),
        (["serve", "--port", "70000"], "port (or DRAGOMAN_PORT)"),
        (["info", "--model", "absent"], "bundle absent: neither a folder nor"),
        (["models", "absent"], "bundle absent: neither a folder nor"),
    ],
)
def test_an_error_that_the_user_can_fix_is_one_line(run: Run, arguments: list[str], message: str) -> None:
    finished = run(*arguments, stdin=b"eins\n")

    assert finished.returncode == 2
    assert re.fullmatch(f"dragoman: .*{re.escape(message)}.*\n", finished.stderr.decode())


def rows_of(finished: subprocess.CompletedProcess[bytes]) -> list[list[str]]:
    return [line.split() for line in finished.stdout.decode().splitlines()]


def test_models_shows_languages_precision_size_and_whether_files_verify(run: Run) -> None:
    finished = run("models")

    assert finished.returncode == 0
    assert rows_of(finished) == [
        ["NAME", "LANGUAGES", "PRECISION", "SIZE", "VERIFIED"],
        ["tiny", "de", "->", "en", "int8", "0.0", "MB", "yes"],
    ]


def test_models_fails_on_a_bad_bundle_and_says_why(run: Run, models_dir: Path) -> None:
    (models_dir / "tiny" / "encoder.onnx").write_bytes(b"e" * 12_000)
    (models_dir / "another").mkdir()

    finished = run("models")

    assert [(row[0], row[-1]) for row in rows_of(finished)[1:]] == [("another", "no"), ("tiny", "no")]
    assert finished.stderr.decode().splitlines() == [
        "another: manifest.json is missing",
        "tiny: encoder.onnx is damaged: its sha256 differs from the manifest's",
    ]
    assert finished.returncode == 1


def test_info_shows_versions_and_the_facts_of_the_bundle(run: Run) -> None:
    facts = dict(re.findall(r"(?m)^(\S+(?: \S+)*) {2,}(.*)$", run("info").stdout.decode()))

    expected = {
        "onnxruntime": version("onnxruntime"),
        "model": "tiny-de-en",
        "languages": "de -> en",
        "segment limits": "256 source, 200 target tokens",
        "confidence": "not calibrated",
        "licence": "CC-BY-4.0",
        "score: captions": "bleu 31.5",
    }
    assert facts | expected == facts
    assert not [name for name in facts if name.startswith("origin")]
    assert facts["kernels"].startswith("onnxruntime, as the engine's own kernels cannot run it: ")


MANY = [f"x{number:02}" for number in range(20)]


@pytest.fixture
def run_several(run: Run, models_dir: Path, environment: dict[str, str]) -> Run:
    """With the models `tiny`, `french` (en -> fr) and `many` (20 languages)."""
    write_bundle(models_dir / "french", "tiny-en-fr", ["en"], ["fr"])
    write_bundle(models_dir / "many", "tiny-many", MANY, MANY)
    environment["DRAGOMAN_MODEL"] = "tiny,french,many"
    return run


@pytest.mark.parametrize(
    ("target", "stderr"),
    [("en", b""), ("fr", b"dragoman: de -> fr is translated through en (tiny, then french)\n")],
)
def test_source_and_target_choose_the_model_and_a_detour_is_reported(
    run_several: Run, target: str, stderr: bytes
) -> None:
    finished = run_several("translate", "--source", "de", "--target", target, stdin=b"eins\n")

    assert (finished.stdout, finished.stderr, finished.returncode) == (b"EINS\n", stderr, 0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "--target: choose a language; served: en -> fr, 20 languages -> 20 languages, de -> en"),
        (["--source", "x01"], "--target: choose a language; served: "),
        (["--source", "it", "--target", "en"], "--source it: this language is not served; served: "),
    ],
)
def test_with_several_pairs_the_error_names_the_missing_option(
    run_several: Run, models_dir: Path, arguments: list[str], message: str
) -> None:
    finished = run_several("translate", *arguments, "-o", "out.txt")

    assert finished.returncode == 2
    assert finished.stderr.decode().startswith(f"dragoman: {message}")
    assert finished.stderr.count(b"\n") == 1
    assert not (models_dir.parent / "out.txt").exists()


def test_a_pair_that_a_bad_bundle_may_serve_is_not_just_unknown(run_several: Run, models_dir: Path) -> None:
    (models_dir / "bad").mkdir()

    finished = run_several("translate", "--model", "tiny,bad", "--source", "fr")

    assert b"; cannot be used: bad (`dragoman models` says why)\n" in finished.stderr


def test_a_bundle_of_many_languages_is_listed_by_their_number(run_several: Run) -> None:
    rows = rows_of(run_several("models"))

    assert [row[0] for row in rows] == ["NAME", "french", "many", "tiny"]
    assert rows[2][1:3] == ["20", "languages"]


@pytest.mark.parametrize(
    ("name", "rows"),
    [("many", [[code, "yes", "yes"] for code in MANY]), ("tiny", [["de", "yes", "no"], ["en", "no", "yes"]])],
)
def test_all_languages_of_a_bundle_are_listed_on_demand(
    run_several: Run, name: str, rows: list[list[str]]
) -> None:
    assert rows_of(run_several("models", name)) == [["LANGUAGE", "FROM", "INTO", "OTHER", "NAMES"], *rows]


def test_info_shows_all_models_or_the_named_one(run_several: Run) -> None:
    finished = run_several("info")

    assert finished.returncode == 0
    for name in (b"french", b"many", b"tiny"):
        assert name in finished.stdout
    assert b"french" not in run_several("info", "--model", "many").stdout


@pytest.mark.parametrize("arguments", [["-h"], ["batch", "-h"], ["keys", "list", "-h"]])
def test_help_and_version_have_short_options(run: Run, arguments: list[str]) -> None:
    assert run(*arguments).stdout == run(*arguments[:-1], "--help").stdout
    assert run("-V").stdout == run("--version").stdout


contents = st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"]))
endings = st.sampled_from([b"\n", b"\r\n"])


class Spelling:
    """Leaves texts alone, but for one; reads `ahead` texts before it answers."""

    def __init__(self, ahead: int = 3) -> None:
        self.ahead = ahead
        self.seen: list[str] = []

    def translate(self, entries: Iterable[Entry]) -> Iterator[TextOutcome]:
        texts = (entry.text for entry in entries)
        while window := list(islice(texts, self.ahead)):
            self.seen += window
            for text in window:
                yield TextOutcome(MarkedText("o\nn\ne" if text == "eins" else text))


def translated(source: bytes, translator: Spelling) -> bytes:
    return b"".join(content for content, _ in translate_lines(translator, io.BytesIO(source)))


@given(lines=st.lists(st.tuples(contents, endings)), last=contents, ahead=st.integers(1, 5))
def test_an_identity_translation_gives_back_every_byte(
    lines: list[tuple[str, bytes]], last: str, ahead: int
) -> None:
    source = b"".join(text.encode() + ending for text, ending in lines) + last.encode()

    assert translated(source, Spelling(ahead=ahead)) == source


def test_line_endings_and_a_byte_order_mark_are_no_part_of_the_text() -> None:
    translator = Spelling()

    translated("\ufeffeins\r\nzwei\n\n drei\u2028vier\x0c\n\ufefffünf".encode(), translator)

    assert translator.seen == ["eins", "zwei", "", " drei\u2028vier\x0c", "\ufefffünf"]


def test_a_translation_with_line_feeds_stays_on_one_line() -> None:
    assert translated(b"eins\nzwei\n", Spelling()) == b"o n e\nzwei\n"


def test_no_more_is_read_than_the_translator_asks_for() -> None:
    def endless() -> Iterator[bytes]:
        while True:
            yield b"ja\n"

    lines = translate_lines(Spelling(), endless())

    assert [next(lines)[0] for _ in range(10)] == [b"ja\n"] * 10


def interrupt() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def test_an_interrupt_between_lines_waits_for_the_next_check() -> None:
    done: list[str] = []

    def work() -> None:
        with defer_interrupts() as interrupts:
            interrupts.check()
            interrupt()
            done.append("what ran when it came goes on")
            interrupts.check()
            done.append("nothing goes on after the check")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["what ran when it came goes on"]


def test_no_line_is_read_after_an_interrupt() -> None:
    read: list[int] = []

    def source() -> Iterator[bytes]:
        for number in range(3):
            read.append(number)
            yield b"line\n"

    def work() -> None:
        with defer_interrupts() as interrupts:
            for _ in interrupts.lines(source()):
                interrupt()

    with pytest.raises(KeyboardInterrupt):
        work()
    assert read == [0]


def test_waiting_for_a_line_is_interrupted_at_once() -> None:
    reader, writer = os.pipe()
    timer = threading.Timer(0.2, interrupt)
    with os.fdopen(reader, "rb") as source, os.fdopen(writer, "wb"):
        timer.start()
        with pytest.raises(KeyboardInterrupt), defer_interrupts() as interrupts:
            next(interrupts.lines(source))
    timer.join()


def test_a_second_interrupt_does_not_wait() -> None:
    def work() -> None:
        with defer_interrupts():
            interrupt()
            interrupt()
            raise AssertionError("it went on")

    with pytest.raises(KeyboardInterrupt):
        work()


def test_lines_are_those_of_the_source_and_interrupts_are_as_before_when_the_block_is_over() -> None:
    before = signal.getsignal(signal.SIGINT)
    with defer_interrupts() as interrupts:
        assert list(interrupts.lines([b"a\n", b"", b"b"])) == [b"a\n", b"", b"b"]
        assert signal.getsignal(signal.SIGINT) != before
    assert signal.getsignal(signal.SIGINT) == before


def test_an_interrupt_between_scores_waits_until_the_next_is_written(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    def scores() -> Iterator[float]:
        yield -1.0
        interrupt()
        yield -2.0
        yield -3.0

    with pytest.raises(KeyboardInterrupt), defer_interrupts() as interrupts:
        write_scores(scores(), interrupts.check)
    assert capsysbinary.readouterr().out == b"-1.000000\n-2.000000\n"
