"""How much memory a bundle is reckoned to take when it is open and at work.

Measured on the CPU with int8 and fp32 models of 1 to 6 decoder layers, widths of 256 to 1024, vocabularies of
8,000 to 64,000 pieces and 1 to 4 replicas, all of these full (beam 4, lines of 60 tokens, with the shortlist
where there is one): between 6 % less and 24 % more than they took. docs/service.md has the figures. Weights
are there once, whatever the replicas; onnxruntime copies some of them into the order in which it reads them.
What a replica works in is kept for its next step, and so counts too.
"""

from dragoman.contract import CacheDType
from dragoman.manifest import Manifest

COPIES_OF_FILES = {"fp32": 1.25}
"""By precision: memory after opening, in sizes of the bundle's files."""
COPIES_OF_OTHER_FILES = 1.75
OPEN_BYTES = 10 * 2**20
"""Tokenizers and sessions."""
REPLICA_BYTES = 20_000_000
WIDTH_BYTES = 70_000
"""What a full replica works in, for each number of the model's width."""
CACHED_TOKENS: dict[CacheDType, int] = {"int8": 40_000, "float16": 24_000, "float32": 24_000}
"""Tokens whose K/V a full replica has room for: of targets by row and of sources, of which int8 rows have
copies of their own, all of it twice while caches grow."""
CACHE_BYTES: dict[CacheDType, int] = {"int8": 1, "float16": 2, "float32": 4}


def estimated_bytes(manifest: Manifest, replicas: int) -> int:
    """Memory of an open bundle at full load, in bytes; what the process takes without any is not in it.

    Args:
        manifest: of the bundle.
        replicas: searches that run at the same time.
    """
    copies = COPIES_OF_FILES.get(manifest.precision, COPIES_OF_OTHER_FILES)
    width = manifest.sizes.heads * manifest.sizes.head_size
    token_bytes = 2 * manifest.sizes.decoder_layers * width * CACHE_BYTES[manifest.cache_dtype]
    working = REPLICA_BYTES + WIDTH_BYTES * width + CACHED_TOKENS[manifest.cache_dtype] * token_bytes
    return OPEN_BYTES + round(copies * size_bytes(manifest)) + replicas * working


def size_bytes(manifest: Manifest) -> int:
    """All files of a bundle together, the manifest itself apart."""
    return sum(record.size_bytes for record in manifest.files.values())
