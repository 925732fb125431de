"""Files of every format: read, and written with their own texts and with others."""

from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from functools import partial
from io import BytesIO
from itertools import repeat
from multiprocessing import get_context
from random import Random

import pytest

from service.formats.entries import FileFormatError, FileOptions, TargetText
from service.formats.registry import ALIASES, SUFFIXES, open_format
from service.text.marked_text import MarkedText
from tests.formats.fuzz.seeds import ARCHIVES, FILES, TOKENS
from tests.formats.fuzz.target import Inputs, Target, World, archives, seeded
from tests.formats.rewriting import anything, own, rewritten, unpack

OPTIONS = FileOptions("de", "en")
BYTE_FOR_BYTE = {
    *(".txt", ".jsonl", ".ndjson", ".csv", ".tsv", ".srt", ".vtt"),
    *(".html", ".htm", ".xhtml", ".md", ".markdown"),
    *(".properties", ".strings", ".ass", ".ssa"),
}
PAGES = {".html", ".htm"}
SEVERAL_SPELLINGS = "cp932"
"""What browsers read Shift_JIS as: some characters have two spellings in it, of which one is written."""
MEMBER_FOR_MEMBER = {".docx", ".pptx", ".xlsx", ".odt", ".odp", ".ods", ".epub"}
"""Of archives, what is in them stays; they are packed anew."""
SOUGHT_IN = {*MEMBER_FOR_MEMBER, ".docx.zst", ".docx.gz", ".parquet"}
"""Of these, damage of what holds no text shows only when it is copied."""

ABORTS = {".parquet", ".pdf"}
"""Their libraries end the process over some damage."""


def check_file(suffix: str, data: bytes) -> None:
    """What can be read is written with its own texts as it was; nothing is raised but FileFormatError."""
    file_format = open_format(f"a{suffix}", OPTIONS)
    try:
        list(file_format.read(BytesIO(data)))
    except FileFormatError:
        with pytest.raises(FileFormatError):
            file_format.write(BytesIO(data), repeat(TargetText(MarkedText("x"))), BytesIO())
        return
    try:
        same = rewritten(file_format, data, own)
    except FileFormatError:
        assert suffix in SOUGHT_IN, "what could be read cannot be written"
        return
    if suffix in BYTE_FOR_BYTE:
        assert same == data or (
            suffix in PAGES and same.decode(SEVERAL_SPELLINGS) == data.decode(SEVERAL_SPELLINGS)
        )
    elif suffix in MEMBER_FOR_MEMBER:
        assert unpack(same) == unpack(data)
    random = Random(len(data))  # noqa: S311 -- the same input is to give the same find
    with suppress(FileFormatError):
        rewritten(file_format, data, anything(random))


class CheckInChild:
    """`check_file` in another process, as the server reads files; one that is aborted is a rejected file."""

    def __init__(self, suffix: str) -> None:
        self._suffix = suffix
        self._pool: ProcessPoolExecutor | None = None

    def __call__(self, data: bytes) -> None:
        if self._pool is None:
            context = get_context("forkserver")
            context.set_forkserver_preload([__name__])  # else each process imports all of it again
            self._pool = ProcessPoolExecutor(1, context)
        try:
            self._pool.submit(check_file, self._suffix, data).result()
        except BrokenProcessPool:
            self._pool = None


def inputs_of(suffix: str) -> Inputs:
    tokens = TOKENS[suffix]
    if suffix not in ARCHIVES:
        return seeded(FILES[suffix], tokens)
    return archives(ARCHIVES[suffix], tokens) | seeded(FILES[suffix], tokens)


def _target(suffix: str) -> Target:
    check = CheckInChild(suffix) if suffix in ABORTS else partial(check_file, suffix)

    def check_in(_world: World, data: bytes) -> None:
        check(data)

    return Target(f"format-{suffix.removeprefix('.')}", inputs_of(suffix), check_in)


OWN = [suffix for suffix in SUFFIXES if suffix not in ALIASES]
TARGETS = tuple(_target(suffix) for suffix in (*OWN, ".txt.gz", ".jsonl.zst", ".docx.zst", ".docx.gz"))
