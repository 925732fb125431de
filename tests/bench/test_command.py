"""Arguments of the benchmarks, what a result records, and prepared models that are used again."""

import json
from pathlib import Path

import pytest

from bench.command import Command, Words, show
from bench.models import COMPLETE, has_origin, origin_of
from tests.paths import TINY

BUNDLE = TINY / "bundle-int8"
DEFAULTS = {"bundle": Path, "--rounds": 5, "--fast": False, "--name": str}
LISTS = {"--sizes of calls": (1, 8), "--kind": ("a", "b"), "--files": [Path]}
WORDS = {"--set": Words(("NAME", "FILE")), "--pair": Words(("A", "B"), "once")}


def test_an_argument_has_the_type_of_its_default_and_a_list_has_the_values_given_or_its_default() -> None:
    words = ["b", "--rounds", "2", "--sizes", "3", "4", "--files", "x", "--files", "y"]

    found = vars(Command("x", None, {**DEFAULTS, **LISTS}).parse(words))

    assert found.pop("sizes") == [3, 4]
    assert found.pop("files") == [Path("x"), Path("y")]
    expected = {"bundle": Path("b"), "rounds": 2, "fast": False, "name": None}
    assert found == {**expected, "kind": ("a", "b"), "output": None}


def test_an_argument_of_several_words_is_a_list_if_it_may_be_given_several_times() -> None:
    command = Command("x", None, {"which": ("real", "forced"), **WORDS})

    found = vars(command.parse(["real", "--set", "a", "b", "--set", "c", "d", "--pair", "e", "f"]))

    assert found == {"which": "real", "set": [["a", "b"], ["c", "d"]], "pair": ["e", "f"], "output": None}


@pytest.mark.parametrize(
    "words",
    [["b", "--kind", "c"], ["b", "--rounds", "many"], [], ["b", "--set", "a"]],
    ids=["choice", "number", "missing", "word"],
)
def test_an_invalid_argument_is_rejected(words: list[str]) -> None:
    with pytest.raises(SystemExit):
        Command("x", None, {**DEFAULTS, **LISTS, **WORDS}).parse(words)


def test_a_result_records_its_command_without_the_output_and_folders_of_this_machine(tmp_path: Path) -> None:
    output, texts = tmp_path / "new" / "x.json", tmp_path / "texts.de"
    texts.write_text("a\n", encoding="utf8")
    command = Command("x", None, {**DEFAULTS, **LISTS})
    arguments = command.parse([str(BUNDLE), "--output", str(output), "--files", str(texts), "--name", "a b"])

    command.write(arguments.bundle, {"results": [1]})

    result = json.loads(output.read_text(encoding="utf8"))
    assert (
        result["provenance"]["command"] == "python -m bench.x tiny/bundle-int8 --files texts.de --name 'a b'"
    )
    assert result["results"] == [1]
    assert list(output.parent.iterdir()) == [output]


def test_a_row_is_a_line_with_the_parts_of_its_values(capsys: pytest.CaptureFixture[str]) -> None:
    show([{"engine": "e", "ms": {"median": 1.23456, "most": 20}}, {"rate": 123456.7}])

    assert capsys.readouterr().out == "engine e  ms (median 1.235, most 20)\nrate 123456.7\n"


CHECKPOINT = TINY / "checkpoint"


def test_a_folder_that_was_not_finished_or_has_other_weights_is_made_again(tmp_path: Path) -> None:
    origin = origin_of(str(CHECKPOINT))
    other = tmp_path / "other"
    other.mkdir()
    (other / "model.safetensors").write_bytes(b"other weights")
    assert not has_origin(tmp_path, origin)

    (tmp_path / COMPLETE).write_text(origin, encoding="utf8")

    found = [has_origin(tmp_path, one) for one in (origin, origin_of(str(other)), origin_of("opus-size"))]
    assert found == [True, False, False]
