"""Memory of the server while it takes single uploads that are costly to unpack, parse or store.

Each upload gets a new server with the default limits. What counts is the memory of the server itself: the
processes that read files have limits of their own. An accepted job is followed for a while, then cancelled.
Exit status 1: memory grew by more than `--max-mib`.
"""

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any

from bench.clients import Post, read_texts
from bench.command import Command, Options, show
from bench.hostile.__main__ import NUM_TEXTS
from bench.hostile.attacks import MULTIPART, bombs, encode_form, large_unit
from bench.hostile.clients import ACCEPTED, Site, record_expected
from bench.hostile.service import attacked_service, resident_bytes
from bench.processes import MIB, sample_memory
from bench.provenance import RESULTS
from bench.workloads import SENTENCES

SAMPLE_S = 0.02
NUM_PAIRS, NUM_ENTRIES = 99_000, 9_900
"""A little under the default limits of a memory and of a glossary."""
LANGUAGES = {"source": "de", "target": "en"}


def uploads() -> Mapping[str, Post]:
    """Return the uploads by what they are."""
    posts = {
        name: Post("/v1/jobs", MULTIPART, encode_form(LANGUAGES, *file)) for name, file in bombs().items()
    }
    for number in range(4):
        one = large_unit(Random(number), [])  # noqa: S311 -- a workload, no secret
        posts[f"{one.path.rpartition('/')[2]} with a large unit"] = one
    unit = '<tu><tuv xml:lang="de"><seg>Hund {}</seg></tuv><tuv xml:lang="en"><seg>dog</seg></tuv></tu>'
    entry = (
        '<termEntry><langSet xml:lang="de"><tig><term>Hund {}</term></tig></langSet>'
        '<langSet xml:lang="en"><tig><term>dog</term></tig></langSet></termEntry>'
    )
    for path, root, one_unit, count in (
        ("/v1/memories", "tmx", unit, NUM_PAIRS),
        ("/v1/glossaries", "tbx", entry, NUM_ENTRIES),
    ):
        units = "".join(map(one_unit.format, range(count)))
        content = f'<{root}><header srclang="de"/><body>{units}</body></{root}>'.encode()
        form = encode_form({"name": "x", **LANGUAGES}, f"a.{root}", content)
        posts[f"{root.upper()} of many units"] = Post(path, MULTIPART, form)
    return posts


async def send(site: Site, upload: Post, follow_s: float) -> int:
    """Send an upload, and follow its job, if there is one, for a while; return the status."""
    status, body = await site.ask(upload)
    if status == ACCEPTED:
        job_id = json.loads(body)["id"]
        await site.follow_job(job_id, follow_s)
        await site.look(f"/v1/jobs/{job_id}", "DELETE")
    return status


def measure(bundle: Path, upload: Post, follow_s: float, texts: list[str]) -> dict[str, Any]:
    """Send one upload to a new server; return its status and the memory before it and at most."""
    with attacked_service(bundle) as (site, pid):
        asyncio.run(record_expected(site, texts))
        before_bytes, began_s = resident_bytes(pid), time.monotonic()
        with sample_memory(lambda: resident_bytes(pid), SAMPLE_S) as seen:
            status = asyncio.run(send(site, upload, follow_s))
    most_bytes = max(one.size_bytes for one in seen)
    return {
        "sent_mib": round(len(upload.body) / MIB, 1),
        "status": status,
        "seconds": round(time.monotonic() - began_s, 1),
        "before_mib": round(before_bytes / MIB, 1),
        "grown_mib": round((most_bytes - before_bytes) / MIB, 1),
    }


def main() -> int:
    """Run the command."""
    options: Options = {
        "--max-mib by which the memory may grow": 120.0,
        "--follow-s seconds for which an accepted job is followed": 20.0,
    }
    files = {"--sentences": SENTENCES, "--output": RESULTS / "hostile-uploads.json"}
    command = Command("hostile.uploads", __doc__, {"bundle": Path, **options, **files})
    arguments = command.parse()
    texts = read_texts(arguments.sentences, NUM_TEXTS)
    results: dict[str, Any] = {}
    for name, upload in uploads().items():
        results[name] = measure(arguments.bundle, upload, arguments.follow_s, texts)
        show([{"upload": name, **results[name]}])
    command.write(arguments.bundle, {"max_mib": arguments.max_mib, "uploads": results})
    return int(any(one["grown_mib"] > arguments.max_mib for one in results.values()))


if __name__ == "__main__":
    sys.exit(main())
