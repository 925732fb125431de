# ruff: noqa: RUF001 -- signs of several scripts are meant as they stand
"""What a fuzzing target is, and where its inputs come from."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import httpx
from hypothesis import strategies as st

from dragoman.bundle import open_bundle
from dragoman.text.tokenizer import Tokenizer
from tests.routing.doubles import write_bundle
from tests.service.conftest import ready_client, router_of
from tests.service.doubles import DoubleTranslator

TINY = Path(__file__).parents[1] / "tiny" / "bundle-fp32"
MAX_EDITS = 6

Inputs = st.SearchStrategy[bytes]


@dataclass(frozen=True, slots=True)
class World:
    """What targets share, opened once."""

    folder: Path
    """Empty at the beginning; for files that a target wants on a disk."""
    client: httpx.Client
    """Of a server with all APIs, the engine's double behind them."""
    tokenizer: Tokenizer
    """Of the tiny bundle."""


@dataclass(frozen=True, slots=True)
class Target:
    """A reader of bytes from outside, and the rule that holds for all of them."""

    name: str
    inputs: Inputs
    check: Callable[[World, bytes], None]
    """Return if the input is read, or rejected by one of our errors; whatever it raises is a find."""


@contextmanager
def open_world(folder: Path) -> Iterator[World]:
    """A server and a tokenizer; files are written below `folder`."""
    bundle = write_bundle(folder / "models" / "tiny", "tiny-de-en")
    double = DoubleTranslator(open_bundle(bundle).manifest)
    database = f"sqlite:///{folder / 'accounts.db'}"
    scratch = folder / "scratch"
    scratch.mkdir()
    with (
        router_of(double, bundle) as router,
        ready_client(router, database_url=database, reload_endpoint=True) as client,
    ):
        yield World(scratch, client, Tokenizer.load(TINY / "source.spm"))
        double.released.set()


def encode(text: str) -> bytes:
    """Of any text, lone surrogates too; `decode` gives it back."""
    return text.encode("utf-8", "surrogatepass")


def decode(data: bytes) -> str:
    """Any bytes as a text: what is no UTF-8, not even of a surrogate, becomes U+FFFD."""
    return data.decode("utf-8", "surrogatepass") if _is_encoded(data) else data.decode("utf-8", "replace")


def _is_encoded(data: bytes) -> bool:
    try:
        data.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError:
        return False
    return True


@st.composite
def edited(draw: st.DrawFn, seeds: Sequence[bytes], tokens: Sequence[bytes]) -> bytes:
    """A sound input with a few pieces cut out, doubled, put in, or taken from another."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(0, MAX_EDITS))):
        start = draw(st.integers(0, len(data)))
        stop = min(len(data), start + draw(st.sampled_from([0, 0, 1, 2, 8, 64, 2**20])))
        between = draw(
            st.sampled_from([b"", data[start:stop] * 2]) | st.sampled_from(tokens) | st.binary(max_size=4)
        )
        data = data[:start] + between + data[stop:]
    return data


@st.composite
def archives(draw: st.DrawFn, members: Mapping[str, bytes], tokens: Sequence[bytes]) -> bytes:
    """A zip archive, some of whose members are edited, left out or there twice."""
    target = BytesIO()
    with ZipFile(target, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            fate = draw(st.sampled_from(["kept", "kept", "kept", "edited", "edited", "absent", "renamed"]))
            if fate == "absent":
                continue
            kept_name = (
                draw(st.sampled_from([f"{name}x", "../x", "x/" + name])) if fate == "renamed" else name
            )
            kept = draw(edited([content], tokens)) if fate == "edited" else content
            archive.writestr(kept_name, kept)
    return target.getvalue()


def seeded(seeds: Sequence[bytes], tokens: Sequence[bytes]) -> Inputs:
    """Edited seeds for the most part, and bytes of no kind."""
    return edited(seeds, tokens) | edited(seeds, tokens) | st.binary(max_size=64)


TEXTS: Inputs = st.one_of(
    st.text(st.characters(exclude_categories=()), max_size=40),
    st.lists(
        st.sampled_from(
            [
                *"aÄß字1.!?:;,'\"„“»«()[]-–…😀 \t\n\r\x00\x1c\x0b\x85\u2028\u00a0\u3000\u00ad\u200b\ufeff",
                *"\u0301\u0345\u200d\ud800\udfff\ufb01\u1e9b\u0323\uac00\u11a8\U0001f1e6\U0001f3fb\u0f73\u2126",
                *(
                    "\r\n",
                    ". ",
                    "Hallo",
                    "Dr. ",
                    "z. B. ",
                    "12. ",
                    "e\u0301\u0323",
                    "a" * 300,
                    "\u0301" * 300,
                ),
            ]
        ),
        max_size=30,
    ).map("".join),
).map(encode)
"""Any text, and text of what segmentation, normalisation and tokens look at."""
