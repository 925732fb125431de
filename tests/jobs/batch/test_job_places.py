"""Which files are read and where each is written."""

import os
from pathlib import Path

import pytest

from service.batch.errors import InputProblem, OutputProblem
from service.batch.planning import FileMappings, map_files


@pytest.fixture(autouse=True)
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with texts in it."""
    for name in ("a.txt", "docs/a.txt", "docs/b.md", "docs/deep/c.txt", "docs/image.png", "docs/.git/d.txt"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("text")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def is_known(name: str) -> bool:
    return name.endswith((".txt", ".md"))


def find(*inputs: str, output: str) -> FileMappings:
    return map_files(inputs, output, is_known)


def pairs(found: FileMappings) -> dict[str, str]:
    return {str(place.source): os.path.relpath(place.target) for place in found.mappings}


@pytest.mark.parametrize(
    ("inputs", "output", "mapped"),
    [
        ("docs/b.md", "c.md", {"docs/b.md": "c.md"}),
        ("docs/a.txt", "docs/out/", {"docs/a.txt": "docs/out/a.txt"}),
        ("docs/b.md", "new/out/", {"docs/b.md": "new/out/b.md"}),
        ("docs/**/*.txt", "en", {"docs/a.txt": "en/a.txt", "docs/deep/c.txt": "en/deep/c.txt"}),
        ("docs/d*/c.txt", "en", {"docs/deep/c.txt": "en/deep/c.txt"}),
        ("x[1].txt", "y.txt", {"x[1].txt": "y.txt"}),
    ],
    ids=[
        "to a file",
        "to a folder",
        "to a new folder",
        "a pattern",
        "a pattern of folders",
        "a name like one",
    ],
)
def test_files_are_mapped_below_what_is_fixed_of_their_path(
    tree: Path, inputs: str, output: str, mapped: dict[str, str]
) -> None:
    (tree / "x[1].txt").write_text("text")

    assert pairs(find(inputs, output=output)) == mapped


def test_a_file_in_a_folder_that_is_written_in_another_format_has_its_suffix(tree: Path) -> None:
    (tree / "docs" / "deep" / "d.pdf").write_bytes(b"")

    found = map_files(["docs"], "en", lambda name: name.endswith((".md", ".pdf")))

    assert pairs(found) == {"docs/b.md": "en/b.md", "docs/deep/d.pdf": "en/deep/d.docx"}


def test_earlier_output_is_not_read_as_input() -> None:
    (Path("docs/en")).mkdir()
    (Path("docs/en/a.txt")).write_text("written before")

    assert "docs/en/a.txt" not in pairs(find("docs", output="docs/en"))


def test_missing_inputs_and_unknown_formats_are_named() -> None:
    with pytest.raises(InputProblem, match=r"no\.txt.*no\*.*docs/\.git"):
        find("no.txt", "no*", "a.txt", "docs/.git/x", output="en")
    for image in ("docs/image.png", "docs/i*"):
        with pytest.raises(InputProblem, match=r"image\.png: this file format is not supported"):
            find(image, output="en/")


@pytest.mark.parametrize("output", ["docs/../docs/b.md", "docs/", "link.md"])
def test_an_input_is_never_overwritten(output: str) -> None:
    Path("link.md").symlink_to("docs/b.md")

    with pytest.raises(OutputProblem, match="is an input"):
        find("docs/b.md", output=output)


def test_two_inputs_with_the_same_output_are_rejected() -> None:
    with pytest.raises(OutputProblem, match=r"a\.txt and docs/a\.txt would both"):
        find("a.txt", "docs", output="en")


def test_links_to_folders_are_not_followed() -> None:
    Path("docs/round").symlink_to(Path("docs").resolve())

    assert len(find("docs", output="en").mappings) == 3
