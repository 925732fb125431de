"""Tickets: whoever has a document's own may ask after it and fetch it. The database has none of them."""

import hashlib
import hmac
import secrets

from service.jobs.job import Job

SIZE_BYTES = 32


def new_document_key() -> str:
    """64 hexadecimal digits that nobody can guess."""
    return secrets.token_hex(SIZE_BYTES)


def key_sha256(document_key: str) -> str:
    """What is kept of one, in hexadecimal digits. It is long and random, so that no salt would add to it."""
    return hashlib.sha256(document_key.encode("utf-8", "replace")).hexdigest()


def opens(document_key: str, job: Job) -> bool:
    """Return whether a document key is the document's own, in constant time."""
    return job.document_key_sha256 is not None and hmac.compare_digest(
        job.document_key_sha256, key_sha256(document_key)
    )
