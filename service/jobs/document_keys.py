"""Tickets: whoever has a document's own may ask after it and fetch it. The database has none of them."""

import hashlib
import hmac
import secrets

from service.jobs.job import Job

SIZE_BYTES = 32


def new_ticket() -> str:
    """64 hexadecimal digits that nobody can guess."""
    return secrets.token_hex(SIZE_BYTES)


def file_sha256(ticket: str) -> str:
    """What is kept of one, in hexadecimal digits. It is long and random, so that no salt would add to it."""
    return hashlib.sha256(ticket.encode("utf-8", "replace")).hexdigest()


def opens(ticket: str, job: Job) -> bool:
    """Whether a ticket is a document's own; it takes as long for one that is nearly right as for any."""
    return job.ticket_sha256 is not None and hmac.compare_digest(job.ticket_sha256, file_sha256(ticket))
