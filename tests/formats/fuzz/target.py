"""What a fuzzing target is, and where its inputs come from."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from hypothesis import strategies as st

from bench.hostile.files import pack
from tests.paths import TINY
from tests.service.conftest import double_server

BUNDLE = TINY / "bundle-fp32"
MAX_EDITS = 6

Inputs = st.SearchStrategy[bytes]


@dataclass(frozen=True, slots=True)
class World:
    """What targets share, opened once."""

    folder: Path
    """Empty at the beginning; for files that a target wants on a disk."""
    client: httpx.Client
    """Of a server with all APIs, the engine's double behind them."""


@dataclass(frozen=True, slots=True)
class Target:
    """A reader of bytes from outside, and the rule that holds for all of them."""

    name: str
    inputs: Inputs
    check: Callable[[World, bytes], None]
    """Return if the input is read, or rejected by one of our errors; whatever it raises is a find."""


@contextmanager
def open_world(folder: Path) -> Iterator[World]:
    """A server, and a folder for files."""
    database = f"sqlite:///{folder / 'accounts.db'}"
    scratch = folder / "scratch"
    scratch.mkdir()
    with double_server(folder, database_url=database, reload_endpoint=True) as (client, _):
        yield World(scratch, client)


def encode(text: str) -> bytes:
    """Of any text, lone surrogates too."""
    return text.encode("utf-8", "surrogatepass")


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
    """A zip archive, some of whose members are edited, left out or renamed."""
    written: dict[str, bytes] = {}
    for name, content in members.items():
        fate = draw(st.sampled_from(["kept", "kept", "kept", "edited", "edited", "absent", "renamed"]))
        if fate == "renamed":
            written[draw(st.sampled_from([f"{name}x", "../x", "x/" + name]))] = content
        elif fate != "absent":
            written[name] = draw(edited([content], tokens)) if fate == "edited" else content
    return pack(written)


def seeded(seeds: Sequence[bytes], tokens: Sequence[bytes]) -> Inputs:
    """Edited seeds for the most part, and bytes of no kind."""
    return edited(seeds, tokens) | edited(seeds, tokens) | st.binary(max_size=64)
