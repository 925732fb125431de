"""Rules that hold for files of every format."""

import pytest

from service.formats.entries import FileFormatError
from service.formats.registry import open_format
from tests.formats.rewriting import OPTIONS, rewritten, texts, written
from tests.fuzz.seeds import FILES


@pytest.mark.parametrize("suffix", FILES)
def test_writing_takes_as_many_texts_as_reading_gives(suffix: str) -> None:
    content, file_format = FILES[suffix][0], open_format(f"a{suffix}", OPTIONS)
    own = texts(file_format, content)

    with pytest.raises(ValueError, match=r"fewer texts than entries: none for \w+"):
        written(file_format, content, *own[:-1])
    with pytest.raises(ValueError, match="more texts than entries"):
        written(file_format, content, *own, "one more")


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("a.txt", b"\nb\n", "line 2: its translation cannot be written in UTF-8: character 3"),
        ("a.jsonl", b'{"text": "a"}', "line 1, key text: its translation cannot be written"),
        ("a.jsonl", b'{"text": "\\u00fc"}', "line 1, key text: its translation cannot be written"),
        ("a.csv", b"text\na\n", "line 2, column text: its translation cannot be written"),
        ("a.parquet", FILES[".parquet"][0], "row 1, column text: its translation cannot be written"),
        ("a.txt.gz", FILES[".txt.gz"][0], "line 1: its translation cannot be written"),
    ],
)
def test_a_translation_that_is_no_unicode_is_refused_with_its_place(
    name: str, content: bytes, problem: str
) -> None:
    with pytest.raises(FileFormatError, match=f"^{problem}"):
        rewritten(open_format(name, OPTIONS), content, lambda _: "ab\ud800")
