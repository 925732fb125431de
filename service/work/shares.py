"""The share of a client in what all clients share.

A client may have as much as it leaves free. With n greedy clients each gets one part of n + 1, and whoever
comes next always finds something free: Choudhury and Hahne, "Dynamic Queue Length Thresholds for
Shared-Memory Packet Switches", 1998.
"""

from collections import Counter
from contextvars import ContextVar

current_client: ContextVar[str] = ContextVar("current_client", default="")
"""Client of the request that runs: its address, or its key once it is authenticated."""


class ClientCounts(Counter[str]):
    """Amount of each client; one that has nothing takes no memory."""

    def add(self, client: str, number: int) -> None:
        """Count `number` more for a client, or less if it is negative."""
        self[client] += number
        if not self[client]:
            del self[client]


def exceeds_share(used: int, total: int, limit: int) -> bool:
    """Return whether a client has more than it leaves free.

    Args:
        used: what the client has.
        total: what all clients have, this one included.
        limit: what all clients may have together.
    """
    return used > limit - total
