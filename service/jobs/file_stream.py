"""The bytes of stored files as asynchronous generators, which close their file wherever reading ends."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator


async def read_on_threads(
    pieces: Generator[bytes], run: Callable[[Callable[[], bytes]], Awaitable[bytes]]
) -> AsyncGenerator[bytes]:
    """Read the first piece, and return all of them. Errors of opening the file are raised here.

    Args:
        pieces: reads a file, and closes it when it is closed.
        run: runs a call that waits for a disk.
    """

    async def read() -> AsyncGenerator[bytes]:
        try:
            piece = await run(lambda: next(pieces, b""))
            yield b""
            while piece:
                yield piece
                piece = await run(lambda: next(pieces, b""))
        finally:
            pieces.close()

    return await begin(read())


async def begin(pieces: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Run a generator up to its first piece, which is empty, and return it.

    Closing a generator that never began runs none of its code, so it would close no file.
    """
    await anext(pieces)
    return pieces
