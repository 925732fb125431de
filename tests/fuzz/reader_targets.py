"""Files of our own that may have been damaged or made by others: bundles, shortlists, settings, journals."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import strategies as st

from dragoman.bundle import open_bundle
from dragoman.errors import BundleError
from dragoman.manifest import MANIFEST_FILE
from dragoman.shortlist import MAGIC, Shortlist
from dragoman.text.tokenizer import Tokenizer
from service.accounts.errors import GlossaryInvalid
from service.accounts.glossaries import EntriesFormat, parse_entries, read_tsv, write_tsv
from service.batch.errors import JournalDamaged, JournalFailed, OtherJob
from service.batch.journal import Journal
from service.batch.journal_file import JournalFile, remove_journal
from service.batch.texts import Translated, Untranslated
from service.settings import SettingsError, load_settings
from tests.fuzz.target import TEXTS, TINY, Inputs, Target, World, decode, seeded
from tests.service.conftest import forget_settings

JSON_TOKENS = (
    *(
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
    ),
    *(b"9" * 5000, b'"../x"', b'"/etc/passwd"', b"0.5", b'""', b"{}", b"[]"),
)
BINARY_TOKENS = (b"\0\0\0\0", b"\xff\xff\xff\xff", b"\1\0\0\0", b"\0\0\1\0", b"\x80", b"\x7f\xff")
MANIFEST = (TINY / MANIFEST_FILE).read_bytes()
SOURCE_VOCAB, TARGET_VOCAB, EOS = 3, 5, 2
KEYS = (b"a", b"b", b"c")


def manifest(world: World, data: bytes) -> None:
    """A bundle opens, or a BundleError says what is wrong with it."""
    bundle = world.folder / "bundle"
    if not bundle.exists():
        shutil.copytree(TINY, bundle)
    (bundle / MANIFEST_FILE).write_bytes(data)
    with suppress(BundleError):
        open_bundle(bundle)


def vocabulary(world: World, data: bytes) -> None:
    path = world.folder / "vocabulary.json"
    path.write_bytes(data)
    with suppress(BundleError):
        Tokenizer.load(TINY / "source.spm", path)


def tokenizer_model(world: World, data: bytes) -> None:
    path = world.folder / "damaged.spm"
    path.write_bytes(data)
    with suppress(BundleError):
        Tokenizer.load(path)


def shortlist(world: World, data: bytes) -> None:
    """What loads has candidates for every source, all of them in the vocabulary, and is saved as it was."""
    path = world.folder / "shortlist.bin"
    path.write_bytes(data)
    with suppress(BundleError):
        loaded = Shortlist.load(path, SOURCE_VOCAB, TARGET_VOCAB, EOS)

        candidates = loaded.candidates(range(SOURCE_VOCAB)).tolist()
        assert EOS in candidates
        assert candidates == sorted(set(candidates))
        assert candidates[-1] < TARGET_VOCAB
        loaded.save(path)
        assert path.read_bytes() == data


def settings_file(world: World, data: bytes) -> None:
    path = world.folder / "settings.toml"
    path.write_bytes(data)
    with pytest.MonkeyPatch.context() as patch:
        forget_settings(patch)
        with suppress(SettingsError):
            load_settings(path)


def settings_variables(_world: World, data: bytes) -> None:
    """Variables of the environment, a line each."""
    with pytest.MonkeyPatch.context() as patch, suppress(SettingsError):
        forget_settings(patch)
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
            assert set(opened.outcomes(KEYS).values()) <= {Translated("A", is_cut=False), Untranslated("no")}
            opened.commit({KEYS[2]: Translated("A", is_cut=False)})
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
            opened.commit({KEYS[0]: Translated("A", is_cut=False), KEYS[1]: Untranslated("no")})
        content = path.read_bytes()
        remove_journal(path)
    return content


def glossary(_world: World, data: bytes) -> None:
    """Entries that are taken are written and read again as they are."""
    text = decode(data)
    for form in EntriesFormat:
        with suppress(GlossaryInvalid):
            entries = parse_entries(text, form, "de", "en")

            assert read_tsv(write_tsv(entries)) == entries
            assert parse_entries(write_tsv(entries), EntriesFormat.TSV, "de", "en") == entries


def _shortlist_seed() -> bytes:
    counts = b"".join(number.to_bytes(4, "little") for number in (SOURCE_VOCAB, TARGET_VOCAB, 2, 3))
    offsets = b"".join(number.to_bytes(4, "little") for number in (0, 1, 1, 3))
    ids = b"".join(number.to_bytes(2, "little") for number in (0, EOS, 1, 3, 4))
    return MAGIC + counts + offsets + ids


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
GLOSSARY_SEEDS = (
    b"Hund\tdog\nKatze\tcat\n",
    b'"Hund, der",dog,de,en\nKatze,"c""at"\n',
    b"\xef\xbb\xbfa\tb\r\n\r\n",
)
GLOSSARY_TOKENS = (
    b"\t",
    b",",
    b'"',
    b"\n",
    b"\r",
    b"\r\n",
    b"\0",
    "\u2028".encode(),
    "\x85".encode(),
    b" ",
    b"x" * 1025,
)


def _journals() -> Inputs:
    """Made when first drawn from."""
    return st.deferred(
        lambda: seeded((_journal_seed(),), (*BINARY_TOKENS, b"SQLite format 3\0", b"CREATE TABLE"))
    )


TARGETS = (
    Target("bundle-manifest", seeded((MANIFEST,), JSON_TOKENS), manifest),
    Target("bundle-vocabulary", seeded((b'["<unk>", "</s>", "a", ""]',), JSON_TOKENS), vocabulary),
    Target("bundle-shortlist", seeded((_shortlist_seed(),), BINARY_TOKENS), shortlist),
    Target("settings-file", seeded((SETTINGS_SEED,), SETTINGS_TOKENS), settings_file),
    Target("settings-variables", seeded((VARIABLES_SEED,), SETTINGS_TOKENS), settings_variables),
    Target("batch-journal", _journals(), journal),
    Target("glossary-entries", TEXTS | seeded(GLOSSARY_SEEDS, GLOSSARY_TOKENS), glossary),
)
