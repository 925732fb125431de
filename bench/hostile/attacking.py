"""A process whose clients attack: they take no time of the process that measures."""

import asyncio
import os
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any

from bench.clients import Clock, count_statuses
from bench.hostile.attacks import draw_posts
from bench.hostile.clients import NAMES, Record, Site, run_hostile_client

if TYPE_CHECKING:
    from multiprocessing.connection import Connection

NICENESS = 10
"""Priority of the attack, whose clients would be on another machine."""


def attack(pipe: "Connection[Any, Any]", site: Site, kind: str, sentences: list[str], clients: int) -> None:
    """Send requests of one kind from the first message to the second; reply with their numbers by status."""
    os.nice(NICENESS)
    posts = draw_posts(kind, sentences)
    pipe.send(None)
    pipe.recv()

    async def run() -> Record:
        record, clock = Record(), Clock(0.0, float("inf"))
        running = [
            asyncio.create_task(run_hostile_client(site, kind, posts, record, clock, number))
            for number in range(clients)
        ]
        await asyncio.to_thread(pipe.recv)
        for one in running:
            one.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        return record

    pipe.send(count_statuses(asyncio.run(run()).everything, NAMES))


@contextmanager
def attacking_process(
    site: Site, kind: str, sentences: list[str], clients: int
) -> Iterator["Connection[Any, Any]"]:
    """Start a process that runs `attack`; yield the connection to it when it is ready."""
    context = get_context("spawn")
    pipe, inner = context.Pipe()
    process = context.Process(target=attack, args=(inner, site, kind, sentences, clients), daemon=True)
    process.start()
    try:
        pipe.recv()
        yield pipe
    finally:
        process.terminate()
        process.join()
