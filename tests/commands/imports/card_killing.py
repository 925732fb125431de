"""`card_killing.py BUNDLE`: gives a bundle a new card again and again, each time killed before another line.

Each time begins with the bundle as it was, in a process of its own that is forked. Prints a line for each
kill after which the bundle does not open, or is not what it should be after the same call again; the last
line is how many kills there were.
"""

import os
import shutil
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from dragoman.bundle import open_bundle
from dragoman.errors import BundleError
from export import bundle as written_by
from export.bundle import put_card
from tests.commands.jobs.killing import Tracer

NEW_CARD = "# new\n"
NEW_SCORES = {"news": {"bleu": 1.0, "chrf": 2.0}}


def put_and_be_killed(bundle: Path, fatal_line: int) -> bool:
    """Whether the process was killed, which it is not if it comes to its end before."""
    child = os.fork()
    if not child:
        manifest = open_bundle(bundle).manifest
        sys.settrace(Tracer(fatal_line, (written_by.__file__,)))
        put_card(bundle, replace(manifest, scores=NEW_SCORES), NEW_CARD)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status)


def main() -> None:
    original = Path(sys.argv[1])
    kills, was_killed = 0, True
    while was_killed:
        with tempfile.TemporaryDirectory() as scratch:
            bundle = Path(scratch) / "bundle"
            shutil.copytree(original, bundle)
            was_killed = put_and_be_killed(bundle, kills + 1)
            kills += was_killed
            try:
                manifest = open_bundle(bundle).manifest
                if was_killed:  # the same call ends what was begun
                    put_card(bundle, replace(manifest, scores=NEW_SCORES), NEW_CARD)
                done = open_bundle(bundle).manifest
            except BundleError as error:
                print(f"killed before line {kills}: {error}")  # noqa: T201 -- what the test reads
                continue
            if done.scores != NEW_SCORES or "README.md" not in done.files:
                print(f"killed before line {kills}: not ended by the next call")  # noqa: T201 -- the same
    print(kills)  # noqa: T201 -- the same


if __name__ == "__main__":
    main()
