"""Files of our own that may have been damaged or made by others: vocabularies, settings, journals."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import strategies as st

from dragoman.errors import BundleError
from dragoman.text.tokenizer import Tokenizer
from service.batch.errors import JournalDamaged, JournalFailed, OtherJob
from service.batch.journal import Journal
from service.batch.journal_file import JournalFile, remove_journal
from service.settings.settings import SettingsError, load_settings
from service.text.marked_text import MarkedText
from service.text.outcome import TextOrigin, TextOutcome
from tests.formats.fuzz.target import BUNDLE, Inputs, Target, World, seeded

JSON_TOKENS = (
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b'"',
    b"null",
    b"true",
    b"-1",
    b"0",
    b"1e999",
    b"NaN",
    b'"\\ud800"',
    b"[" * 600,
    b"9" * 5000,
    b'"../x"',
    b'"/etc/passwd"',
    b"0.5",
    b'""',
    b"{}",
    b"[]",
)
BINARY_TOKENS = (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\1\0\0\0", b"\0\0\1\0", b"\x80", b"\x7f\xff")
KEYS = (b"a", b"b", b"c")


def vocabulary(world: World, data: bytes) -> None:
    path = world.folder / "vocabulary.json"
    path.write_bytes(data)
    with suppress(BundleError):
        Tokenizer.load(BUNDLE / "source.spm", path)


def settings_file(world: World, data: bytes) -> None:
    path = world.folder / "settings.toml"
    path.write_bytes(data)
    with suppress(SettingsError):
        load_settings(path)


def settings_variables(_world: World, data: bytes) -> None:
    """Variables of the environment, a line each."""
    with pytest.MonkeyPatch.context() as patch, suppress(SettingsError):
        for line in data.replace(b"\0", b"").split(b"\n"):
            name, _, value = line.partition(b"=")
            if name:
                patch.setenv(f"DRAGOMAN_{os.fsdecode(name)}", os.fsdecode(value))
        load_settings()


def journal(world: World, data: bytes) -> None:
    """A damaged journal is told of, never mistaken for a job's and never read as something else."""
    with TemporaryDirectory(dir=world.folder) as folder:
        path = Path(folder) / "journal"
        path.write_bytes(data)
        with suppress(JournalDamaged, JournalFailed, OtherJob), _opened(path) as opened:
            opened.facts()
            opened.begin({"source": "de"})
            assert set(opened.outcomes(KEYS).values()) <= {
                TextOutcome(MarkedText("A"), is_cut=False),
                TextOutcome(MarkedText(""), origin=TextOrigin.SOURCE, rejection="no"),
            }
            opened.commit({KEYS[2]: TextOutcome(MarkedText("A"), is_cut=False)})
            opened.num_outcomes()


@contextmanager
def _opened(path: Path) -> Iterator[Journal]:
    file = JournalFile.open(path)
    try:
        yield Journal(file)
    finally:
        file.close()


def _journal_seed() -> bytes:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        with _opened(path) as opened:
            opened.begin({"source": "de"})
            opened.commit(
                {
                    KEYS[0]: TextOutcome(MarkedText("A"), is_cut=False),
                    KEYS[1]: TextOutcome(MarkedText(""), origin=TextOrigin.SOURCE, rejection="no"),
                }
            )
        content = path.read_bytes()
        remove_journal(path)
    return content


SETTINGS_SEED = (
    b'host = "127.0.0.1"\nport = 8000\nmodel = "x"\nproviders = ["cpu"]\ndetection = "off"\nqueue_size = 8\n'
    b"request_timeout_s = 30.0\n"
)
VARIABLES_SEED = b"PORT=8000\nQUEUE_SIZE=8\nPROVIDERS=cpu\nDETECTION=off\nDATABASE_URL=sqlite:///x"
SETTINGS_TOKENS = (
    *JSON_TOKENS,
    b"=",
    b"\n",
    b"[a]\n",
    b"'''",
    b"inf",
    b"1979-05-27",
    b"APIS=",
    b"RATE_LIMIT=",
    b"1/s",
)


def _journals() -> Inputs:
    """Made when first drawn from."""
    return st.deferred(
        lambda: seeded((_journal_seed(),), (*BINARY_TOKENS, b"SQLite format 3\0", b"CREATE TABLE"))
    )


TARGETS = (
    Target("bundle-vocabulary", seeded((b'["<unk>", "</s>", "a", ""]',), JSON_TOKENS), vocabulary),
    Target("settings-file", seeded((SETTINGS_SEED,), SETTINGS_TOKENS), settings_file),
    Target("settings-variables", seeded((VARIABLES_SEED,), SETTINGS_TOKENS), settings_variables),
    Target("batch-journal", _journals(), journal),
)
