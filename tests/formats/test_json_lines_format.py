"""JSON lines: strings are translated in place, and all else stays byte for byte."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from service.formats.entries import Entry, FileFormatError, FileOptions
from service.formats.json_lines import JsonLinesFormat

texts = st.text(st.characters(exclude_categories=["Cs"]))
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)
objects = st.dictionaries(texts.filter(lambda key: key != "text"), values, max_size=4)


def of(*keys: str) -> JsonLinesFormat:
    return JsonLinesFormat(FileOptions("de", "en", keys))


def read(content: bytes, *keys: str) -> list[Entry]:
    return list(of(*keys).read(io.BytesIO(content)))


def written(content: bytes, translations: list[str], *keys: str) -> bytes:
    target = io.BytesIO()
    of(*keys).write(io.BytesIO(content), iter(translations), target)
    return target.getvalue()


@given(
    rows=st.lists(st.tuples(objects, texts), min_size=1),
    is_ascii=st.booleans(),
    separators=st.sampled_from([(",", ":"), (", ", ": "), (" ,\t", " :  ")]),
    ending=st.sampled_from(["\n", "\r\n", "\n\n"]),
)
def test_with_their_own_texts_lines_come_back_byte_for_byte(
    rows: list[tuple[dict[str, Any], str]], *, is_ascii: bool, separators: tuple[str, str], ending: str
) -> None:
    content = "".join(
        json.dumps({**row, "text": text}, ensure_ascii=is_ascii, separators=separators) + ending
        for row, text in rows
    ).encode()

    entries = read(content)

    assert [entry.text for entry in entries] == [text for _, text in rows if text.strip()]
    assert written(content, [entry.text for entry in entries]) == content


@given(rows=st.lists(st.tuples(objects, texts), min_size=1), is_ascii=st.booleans())
def test_translations_are_in_their_places_and_all_else_as_it_was(
    rows: list[tuple[dict[str, Any], str]], *, is_ascii: bool
) -> None:
    content = "".join(
        json.dumps({"a": 1, "text": text, **row}, ensure_ascii=is_ascii) + "\n" for row, text in rows
    ).encode()

    result = written(content, [entry.text[::-1] for entry in read(content)])

    assert [json.loads(line) for line in result.split(b"\n")[:-1]] == [
        {"a": 1, "text": text[::-1] if text.strip() else text, **row} for row, text in rows
    ]


def test_numbers_order_and_spacing_of_a_changed_line_stay() -> None:
    content = b'{ "n":1.0e+05,"big" : 123456789012345678901234567890, "text":"Hallo" , "t":true}\r\n'

    assert written(content, ["Hello"]) == content.replace(b"Hallo", b"Hello")


def test_a_text_that_stays_is_spelled_as_it_was() -> None:
    content = b'{"text": "\\u0041 \\/ \\u00FC"}\n'

    assert read(content) == [Entry("A / ü", "line 1, key text")]
    assert written(content, ["A / ü"]) == content


def test_numbers_may_have_any_number_of_digits() -> None:
    content = b'{"n": ' + b"1" * 10_000 + b', "text": "Hallo"}'

    assert written(content, ["Hello"]) == content.replace(b"Hallo", b"Hello")


def test_a_value_written_in_ascii_stays_in_ascii() -> None:
    content = b'{"text": "Gr\\u00fc\\u00dfe"}\n{"text": "Gr\xc3\xbc\xc3\x9fe"}\n'

    assert written(content, ["Ähre", "Ähre"]) == b'{"text": "\\u00c4hre"}\n{"text": "\xc3\x84hre"}\n'


def test_keys_reach_into_objects_and_lists() -> None:
    content = (
        b'{"title": {"de": "Titel", "n": 1}, "title.de": "flach", "tags": ["eins", null, ["zwei"]],'
        b' "messages": [{"role": "user", "content": "drei"}, {"content": "vier"}, 5]}\n'
    )

    assert read(content, "title.de", "tags", "messages.content") == [
        Entry("Titel", "line 1, key title.de"),
        Entry("flach", "line 1, key title.de"),
        Entry("eins", "line 1, key tags[1]"),
        Entry("zwei", "line 1, key tags[3][1]"),
        Entry("drei", "line 1, key messages[1].content"),
        Entry("vier", "line 1, key messages[2].content"),
    ]


def test_lines_may_lack_a_key_or_have_nothing_for_it() -> None:
    content = b'{"id": 1}\n\n{"text": null}\n{"text": ""}\n{"text": "a"}'

    assert read(content) == [Entry("a", "line 5, key text")]


def test_a_key_that_no_line_has_is_refused_with_those_there_are() -> None:
    with pytest.raises(FileFormatError, match=r"^no line has the key text; .*the first line: id, body$"):
        read(b'{"id": 1, "body": "a"}\n{"id": 2}\n')


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"[]", "line 2 is not a JSON object: character 1: an object is expected"),
        (b'"text"', "line 2 is not a JSON object: character 1: an object is expected"),
        (b'{"text": "a"', "line 2 is not a JSON object: character 13: a comma or a closing brace"),
        (
            b'{"text": "a"} {',
            "line 2 is not a JSON object: character 15: each line must have exactly one object",
        ),
        (b'{"text" "a"}', "line 2 is not a JSON object: character 9: a colon is expected"),
        (b'{"text": "a\tb"}', "line 2 is not a JSON object: character 12: Invalid control character"),
        (b'{"text": "a}', "line 2 is not a JSON object: character 10: Unterminated string"),
        (b'{1: "a"}', "line 2 is not a JSON object: character 2: a key in quotation marks is expected"),
        (b'{"a": nul}', "line 2 is not a JSON object: character 7: Expecting value"),
        (b'{"a": ' + b"[" * 100_000, "line 2 is not a JSON object: character 7: it is nested too deeply"),
        (b'{"text": ' + b"[" * 200 + b"]" * 200 + b"}", "line 2, key text.*: not a string"),
        (b'{"text": 1}', "line 2, key text: not a string; choose keys of strings"),
        (b'{"text": {"de": "a"}}', "line 2, key text: not a string"),
        (b'{"text": "a\\ud800"}', "line 2, key text: character 2 is a lone surrogate"),
        (b'{"text": "\xff"}', "line 2 is not UTF-8: byte 0xff at position 11"),
    ],
)
def test_bad_lines_are_refused_with_their_place(line: bytes, problem: str) -> None:
    with pytest.raises(FileFormatError, match=f"^{problem}"):
        read(b'{"text": "a"}\n' + line + b"\n")


@given(st.binary(max_size=60) | st.text('{}[]",:\\text 1nul', max_size=40).map(str.encode))
def test_whatever_is_read_is_read_or_refused(content: bytes) -> None:
    try:
        entries = read(content)
    except FileFormatError:
        return
    assert written(content, [entry.text for entry in entries]) == content


def test_writing_takes_as_many_texts_as_reading_gives() -> None:
    content = b'{"text": "a"}\n{"text": "b"}\n'

    with pytest.raises(ValueError, match="fewer texts than entries: none for line 2, key text"):
        written(content, ["x"])
    with pytest.raises(ValueError, match="more texts than entries"):
        written(content, ["x", "y", "z"])


def test_a_translation_that_is_no_unicode_is_refused_with_its_place() -> None:
    for content in (b'{"text": "a"}', b'{"text": "\\u00fc"}'):
        with pytest.raises(FileFormatError, match=r"^line 1, key text: its translation cannot be written"):
            written(content, ["\ud800"])
