"""`dragoman batch`, in a process of its own, with a double in the engine's place."""

import gzip
import json
import os
from pathlib import Path

import polib
import pytest

from service.formats.registry import open_format
from tests.formats.pdf_samples import SEED, drawn
from tests.formats.rewriting import OPTIONS, texts
from tests.jobs.batch.conftest import Run
from tests.service import conftest as service
from tests.service.conftest import TINY_BUNDLE


@pytest.fixture(autouse=True)
def text(tmp_path: Path) -> Path:
    path = tmp_path / "in.txt"
    path.write_bytes("eins\r\n\nzwölf\neins".encode())
    return path


def test_a_file_is_translated_without_leftover_files(run: Run, tmp_path: Path) -> None:
    finished = run("in.txt", "-o", "out.txt", "--source", "de", "--target", "en")

    assert (finished.returncode, finished.stdout) == (0, "")
    assert finished.stderr == "dragoman: 3 entries, 2 translated now, 0 failed\n"
    assert (tmp_path / "out.txt").read_bytes() == "EINS\r\n\nZWÖLF\nEINS".encode()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.txt", "models", "out.txt"]


def test_failed_entries_keep_their_positions_and_set_the_exit_status(
    run: Run, tmp_path: Path, text: Path
) -> None:
    text.write_text("eins\nunusable\ndrei\n")

    finished = run("in.txt", "-o", "out.txt")

    assert finished.returncode == 1
    assert (tmp_path / "out.txt").read_text() == "EINS\nunusable\nDREI\n"
    assert "1 failed" in finished.stderr
    assert "out.txt.errors.jsonl lists them" in finished.stderr
    (record,) = map(json.loads, (tmp_path / "out.txt.errors.jsonl").read_text().splitlines())
    assert (record["file"], record["place"], record["text"]) == ("in.txt", "line 2", "unusable")
    assert run("in.txt", "-o", "out.txt", "--resume").returncode == 1  # nothing to resume: as it was

    assert run("in.txt", "-o", "out.txt", "--force", "--on-failure", "empty").returncode == 1
    assert (tmp_path / "out.txt").read_text() == "EINS\n\nDREI\n"


def test_a_folder_is_translated_with_its_tree(run: Run, tmp_path: Path) -> None:
    (tmp_path / "texts" / "deep").mkdir(parents=True)
    (tmp_path / "texts" / "a.txt").write_text("eins\n")
    (tmp_path / "texts" / "deep" / "b.txt.gz").write_bytes(gzip.compress(b"zwei\n"))
    (tmp_path / "texts" / "image.png").write_bytes(b"\x89PNG")

    finished = run("texts", "-o", "en")

    assert finished.returncode == 0
    assert "skipped files of unsupported formats: texts/image.png" in finished.stderr
    assert (tmp_path / "en" / "a.txt").read_text() == "EINS\n"
    assert gzip.decompress((tmp_path / "en" / "deep" / "b.txt.gz").read_bytes()) == b"ZWEI\n"
    assert {path.name for path in tmp_path.iterdir()} == {"texts", "en", "in.txt", "models"}


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_translated(run: Run, tmp_path: Path) -> None:
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("eins\n")
    (tmp_path / "texts" / "b.po").write_text('msgid ""\nmsgstr "Language: fr\\n"\n\nmsgid "ja"\nmsgstr ""\n')

    finished = run("texts", "-o", "en")

    assert finished.returncode == 1
    assert "skipped b.po: its translations are in 'fr', but the target language is en" in finished.stderr
    assert [path.name for path in (tmp_path / "en").iterdir()] == ["a.txt"]
    assert (tmp_path / "en" / "a.txt").read_text() == "EINS\n"


PDF = drawn([[(70, 700, "ein Satz.")]])
TABLE = b"id,title,note\n1,eins,x\n2,zwei,y\n"
MEMORY = """<tmx version="1.4"><header srclang="de"/><body><tu><tuv xml:lang="de"><seg>ja</seg></tuv>
<tuv xml:lang="en"><seg>yes</seg></tuv></tu></body></tmx>"""


@pytest.mark.parametrize(
    ("name", "content", "output", "options", "written"),
    [
        ("a.csv", TABLE, "b.csv", "--column title --column note", "id,title,note\n1,EINS,X\n2,ZWEI,Y\n"),
        ("a.pdf", PDF, "b.txt", "", "EIN SATZ.\n"),
        ("a.txt", b"ja\nwarum\n", "b.txt", "--memory m.tmx", "yes\nWARUM\n"),
        ("a.txt", b"Datei %s\n", "b.txt", "--placeholders auto", "DATEI %s\n"),
        ("a.txt", b"Datei %s\n", "b.txt", "--placeholders off", "DATEI %S\n"),
    ],
)
def test_an_option_or_the_name_of_the_output_is_used(
    run: Run, tmp_path: Path, *, name: str, content: bytes, output: str, options: str, written: str
) -> None:
    (tmp_path / "m.tmx").write_text(MEMORY)
    (tmp_path / name).write_bytes(content)

    assert run(name, "-o", output, *options.split()).returncode == 0
    assert (tmp_path / output).read_text() == written


def test_a_pdf_becomes_a_document(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.pdf").write_bytes(PDF)

    assert run("in.pdf", "-o", "out.docx").returncode == 0
    assert texts(open_format("a.docx", OPTIONS), (tmp_path / "out.docx").read_bytes()) == ["EIN SATZ."]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.txt", "-o", "out.txt"], "absent.txt: not found, or contains no file"),
        (["-", "-o", "out.txt"], "- stands alone; name - as --output as well"),
        (["-", "in.txt", "-o", "-"], "- stands alone; name - as --output as well"),
        (["-", "-o", "-", "--resume"], "Invalid value for --resume: is for files, not for -"),
        (["in.png", "-o", "out.png"], "in.png: this file format is not supported; supported are .txt,"),
        (["in.txt", "-o", "in.txt"], "in.txt: is an input; choose another output"),
        (["in.txt", "-o", "out.po"], "the output must have the format of in.txt"),
        (["in.txt", "-o", "out.txt.gz"], "the output must have the format of in.txt"),
        (["in.pdf", "-o", "out.pdf"], "in.pdf can only be written as .docx or .txt"),
        (["in.txt", "-o", "out.txt", "--target", "xx"], "--target xx: this language is not served"),
        (["in.txt", "-o", "out.txt", "--resume", "--force"], "cannot be combined with --force"),
        (["in.txt", "-o", "out.txt", "--beam-size", "99"], "beam_size: 99 is not between 1 and 32"),
        (["in.txt", "-o", "there.txt"], "there.txt: already exists; replace it with --force"),
        (["broken.txt", "-o", "out.txt"], "broken.txt: line 1 is not UTF-8"),
        (["in.txt", "-o", "out.txt", "--memory", "missing.tmx"], "missing.tmx: No such file"),
        (["in.txt", "-o", "out.txt", "--memory", "in.txt"], "not well-formed"),
        (
            ["in.txt", "-o", "out.txt", "--memory", "in.txt", "--engine", "ray"],
            "cannot be combined with --engine ray",
        ),
    ],
)
def test_an_invalid_command_is_rejected_in_one_line_without_output_files(
    run: Run, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / "there.txt").write_text("there")
    (tmp_path / "broken.txt").write_bytes(b"\x81\n")
    (tmp_path / "in.pdf").write_bytes(SEED)
    (tmp_path / "in.png").touch()
    before = {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}

    finished = run(*arguments)

    assert finished.returncode == 2
    assert message in " ".join(finished.stderr.replace("│", " ").split())
    assert "Traceback" not in finished.stderr
    assert {path: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_resuming_with_other_options_is_rejected(run: Run, tmp_path: Path, text: Path) -> None:
    text.write_text("eins\nzwei\nexplode\n")
    stop_at_explode(run)
    assert (tmp_path / "out.txt.journal").exists()

    assert "continue it with --resume" in run("in.txt", "-o", "out.txt").stderr
    other = run("in.txt", "-o", "out.txt", "--resume", "--max-length", "7")
    assert other.returncode == 2
    assert '"max_length": null' in other.stderr
    assert '"max_length": 7' in other.stderr
    text.write_text("eins\nzwei\n")
    changed = run("in.txt", "-o", "out.txt", "--resume")
    assert (changed.returncode, "file in.txt was" in changed.stderr) == (2, True)
    assert not (tmp_path / "out.txt").exists()
    assert run("in.txt", "-o", "out.txt", "--force").returncode == 0


def test_resuming_with_another_bundle_is_rejected(run: Run, tmp_path: Path, text: Path) -> None:
    text.write_text("eins\nexplode\n")
    stop_at_explode(run)
    manifest = tmp_path / "models" / "tiny" / "manifest.json"
    record = json.loads(manifest.read_text())
    record["limits"]["max_source_tokens"] -= 1
    manifest.write_text(json.dumps(record))

    finished = run("in.txt", "-o", "out.txt", "--resume")

    assert finished.returncode == 2
    assert "bundles of de -> en was tiny (manifest" in finished.stderr


def test_a_dry_run_counts_and_writes_nothing(run: Run, tmp_path: Path, text: Path) -> None:
    text.write_text("Ein Satz. Noch einer.\neins\n\neins\neins\n")

    finished = run("in.txt", "-o", "out.txt", "--dry-run")

    rows = dict(line.split(maxsplit=1) for line in finished.stdout.splitlines())
    assert finished.returncode == 0
    assert (rows["files"], rows["entries"], rows["characters"]) == ("1", "4", "33")
    assert (rows["segments"], rows["duplicates"]) == ("5", "2")
    assert "2 entries of 25 characters" in finished.stdout
    assert rows["time"] == "about 0 s"
    assert {path.name for path in tmp_path.iterdir()} == {"in.txt", "models"}


def test_the_language_of_each_file_is_detected(run_engine: service.Run, tmp_path: Path) -> None:
    german = "Ich habe ein Haus und einen kleinen Garten.\n"
    english = "I have a house, and there is a small garden behind it.\n"
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "de.txt").write_text(german)
    (tmp_path / "texts" / "en.txt").write_text(english)

    model = ("--model", str(TINY_BUNDLE))
    finished = run_engine("batch", "texts", "-o", "out", *model, "-s", "auto", "-t", "en")

    assert (tmp_path / "out" / "en.txt").read_text() == english
    assert (tmp_path / "out" / "de.txt").read_text() not in {"", english, german}
    unchanged = b"dragoman: en.txt: already in the target language, or without letters; written unchanged\n"
    assert finished.stderr.startswith(unchanged)


def test_lines_from_stdin_are_translated_to_stdout(run_double: service.Run) -> None:
    finished = run_double("batch", "-", "-o", "-", "-t", "en", stdin=b"eins\nzwei\n")

    assert (finished.returncode, finished.stdout) == (0, b"EINS\nZWEI\n")


def stop_at_explode(run: Run) -> None:
    """The double fails there as no engine does."""
    with pytest.raises(RuntimeError, match="cannot handle explode"):
        run("in.txt", "-o", "out.txt")


def test_limits_for_untrusted_files_can_be_enabled(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.html").write_bytes(b"")
    os.truncate(tmp_path / "in.html", 2**28)
    monkeypatch.setenv("DRAGOMAN_FILE_MEMORY_BYTES", str(2**27))

    refused = run("in.html", "-o", "out.html", "--untrusted")

    assert refused.returncode == 2
    assert "in.html: reading it exceeds the limit of 128 MiB of memory per file" in refused.stderr
    assert not (tmp_path / "out.html").exists()
    assert run("in.txt", "-o", "out.txt", "--untrusted").returncode == 0
    assert (tmp_path / "out.txt").read_bytes() == "EINS\r\n\nZWÖLF\nEINS".encode()


CATALOGUE = r"""msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\n"

msgid "&Öffne %s"
msgstr ""

msgid "{n, plural, one {# Datei}"
msgstr ""

msgid "{n, plural, one {# <b>Datei</b>} other {# Dateien}}"
msgstr ""
"""


def _translations(path: Path) -> list[str]:
    return [entry.msgstr for entry in polib.pofile(path.read_text(encoding="utf-8"))]


def test_an_entry_that_fails_a_check_keeps_its_source_and_is_reported(run: Run, tmp_path: Path) -> None:
    (tmp_path / "in.po").write_text(CATALOGUE, encoding="utf-8")

    finished = run("in.po", "-o", "out.po", "--source", "de", "--target", "en")

    assert finished.returncode == 1
    assert _translations(tmp_path / "out.po") == [
        "&ÖFFNE %s",
        "{n, plural, one {# Datei}",
        "{n, plural, one {# <b>DATEI</b>} other {# DATEIEN}}",
    ]
    [reported] = map(json.loads, (tmp_path / "out.po.errors.jsonl").read_text(encoding="utf-8").splitlines())
    assert reported["check"] == "icu"
    assert reported["outcome"] == "untranslated"
    assert reported["place"] == "line 9"
    assert "a closing brace is missing" in reported["problem"]
