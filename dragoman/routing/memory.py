"""Estimate of the memory that an open bundle takes at work.

Measured on the CPU with int8 and fp32 models of 1 to 6 decoder layers, widths of 256 to 1024, vocabularies of
8,000 to 64,000 pieces and 1 to 4 replicas, all of these full (beam 4, lines of 60 tokens, with a shortlist if
there is one): estimates were between 6 % below and 24 % above the actual memory. All replicas share the
weights; onnxruntime copies some of them into the order in which it reads them. A replica keeps its working
memory for the next step, so it counts too.
"""

from dragoman.contract import CacheDType
from dragoman.manifest import Manifest

COPIES_OF_FILES = {"fp32": 1.25}
"""Memory after opening, in multiples of the size of the bundle's files, by precision."""
COPIES_OF_OTHER_FILES = 1.75
OPEN_BYTES = 10 * 2**20
"""Memory of tokenizers and sessions."""
REPLICA_BYTES = 20_000_000
WIDTH_BYTES = 70_000
"""Working memory of a full replica per unit of the model's width."""
CACHED_TOKENS: dict[CacheDType, int] = {"int8": 40_000, "float16": 24_000, "float32": 24_000}
"""Number of tokens whose K/V a full replica holds: targets by row, and sources, which int8 copies for each
row; all of it twice while caches grow."""
CACHE_BYTES: dict[CacheDType, int] = {"int8": 1, "float16": 2, "float32": 4}


def estimated_bytes(manifest: Manifest, replicas: int) -> int:
    """Return the memory of an open bundle at full load, in bytes, without the process's own.

    Args:
        manifest: manifest of the bundle.
        replicas: number of searches that run at the same time.
    """
    copies = COPIES_OF_FILES.get(manifest.precision, COPIES_OF_OTHER_FILES)
    width = max(manifest.sizes.attention_width, manifest.sizes.model_width)
    token_bytes = 2 * manifest.sizes.decoder_layers * width * CACHE_BYTES[manifest.cache_dtype]
    working = REPLICA_BYTES + WIDTH_BYTES * width + CACHED_TOKENS[manifest.cache_dtype] * token_bytes
    return OPEN_BYTES + round(copies * size_bytes(manifest)) + replicas * working


def size_bytes(manifest: Manifest) -> int:
    """Return the size of all files of a bundle, without the manifest itself."""
    return sum(record.size_bytes for record in manifest.files.values())
