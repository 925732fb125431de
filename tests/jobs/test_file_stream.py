"""A response with the bytes of a file closes the file wherever it ends."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from pathlib import Path
from typing import TypeVar

import pytest
from starlette.types import Message

from service.http.streams import FileStream
from service.jobs.file_stream import begin, read_on_threads

Result = TypeVar("Result")
PIECES = 3


class FileOfPieces:
    """Pieces of an open file, and whether it is closed."""

    is_open = False

    def read(self) -> Generator[bytes]:
        self.is_open = True
        try:
            for number in range(PIECES):
                yield b"%d" % number
        finally:
            self.is_open = False

    async def stream(self) -> AsyncGenerator[bytes]:
        async def run(ask: Callable[[], Result]) -> Result:
            return await asyncio.to_thread(ask)

        return await read_on_threads(self.read(), run)


async def receive() -> Message:
    await asyncio.Event().wait()
    raise AssertionError("waits for ever")


def respond(stream: AsyncGenerator[bytes], send: Callable[[Message], Awaitable[None]]) -> Awaitable[None]:
    response = FileStream(stream, 200, {}, "text/plain")
    return response({"type": "http", "asgi": {"spec_version": "2.3"}}, receive, send)


@pytest.mark.parametrize("at", range(PIECES + 2))
def test_file_is_closed_at_whatever_message_the_response_fails(at: int) -> None:
    file = FileOfPieces()
    kept: list[BaseException] = []

    async def run() -> None:
        num_sent = 0

        async def send(message: Message) -> None:
            nonlocal num_sent
            num_sent += 1
            if num_sent > at:
                raise ConnectionError(message["type"])

        stream = await file.stream()
        assert file.is_open
        try:
            await respond(stream, send)
        except BaseException as error:  # noqa: BLE001 -- its traceback keeps the generator alive
            kept.append(error)
        assert not file.is_open

    asyncio.run(run())
    assert kept


def test_file_is_closed_when_the_client_leaves_at_once() -> None:
    file = FileOfPieces()

    async def run() -> None:
        async def leave() -> Message:
            return {"type": "http.disconnect"}

        async def send(_: Message) -> None:
            await asyncio.Event().wait()

        stream = await file.stream()
        await FileStream(stream, 200, {}, "text/plain")({"type": "http"}, leave, send)
        assert not file.is_open

    asyncio.run(run())


def test_error_of_opening_is_raised_before_the_response_begins(tmp_path: Path) -> None:
    def missing() -> Generator[bytes]:
        with (tmp_path / "none").open("rb") as file:
            yield file.read()

    async def run(ask: Callable[[], Result]) -> Result:
        return ask()

    with pytest.raises(FileNotFoundError):
        asyncio.run(read_on_threads(missing(), run))


def test_begun_generator_runs_its_end_when_it_is_closed_unread() -> None:
    ends: list[str] = []

    async def pieces() -> AsyncGenerator[bytes]:
        try:
            yield b""
        finally:
            ends.append("ended")

    async def run() -> None:
        await (await begin(pieces())).aclose()

    asyncio.run(run())
    assert ends == ["ended"]
