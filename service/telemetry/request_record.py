"""What is known of the request under way, wherever in the program one stands."""

import re
import secrets
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass

ID_BYTES = 8
_ID_FORM = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


@dataclass(slots=True)
class RequestRecord:
    """Of one request. Tasks and threads that work for it share it."""

    request_id: str
    trace_id: str | None = None
    characters: int = 0
    """That the client wants translated."""
    texts: tuple[str, ...] = ()
    """The client's, for a log that was asked for them."""


CURRENT: ContextVar[RequestRecord | None] = ContextVar("dragoman_request", default=None)


def begin_request(wanted_id: str | None) -> RequestRecord:
    """Note a request in this context, which is thrown away when the request is over.

    Args:
        wanted_id: what the client or a proxy calls it. Kept if it has 1 to 64 letters, digits, dots, hyphens
            and underscores; else a random one takes its place, as no log line shall say what a client likes.
    """
    fits = wanted_id is not None and _ID_FORM.fullmatch(wanted_id)
    note = RequestRecord(wanted_id if wanted_id and fits else secrets.token_hex(ID_BYTES))
    CURRENT.set(note)
    return note


def note_texts(texts: Sequence[str]) -> None:
    """Texts that the request under way wants translated; without effect where there is none."""
    note = CURRENT.get()
    if note is not None:
        note.characters += sum(map(len, texts))
        note.texts = (*note.texts, *texts)
