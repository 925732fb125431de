"""Document keys: the secret that gives access to one document. The database stores only their hashes."""

import hashlib
import hmac
import secrets

from service.jobs.job import Job

SIZE_BYTES = 32


def new_document_key() -> str:
    """Return 64 hexadecimal digits that nobody can guess."""
    return secrets.token_hex(SIZE_BYTES)


def key_sha256(document_key: str) -> str:
    """Return the hash to store, in hexadecimal digits. The key is long and random, so a salt adds nothing."""
    return hashlib.sha256(document_key.encode("utf-8", "replace")).hexdigest()


def opens(document_key: str, job: Job) -> bool:
    """Return whether a document key belongs to a document, in constant time."""
    return job.document_key_sha256 is not None and hmac.compare_digest(
        job.document_key_sha256, key_sha256(document_key)
    )
