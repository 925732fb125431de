"""What CTranslate2 says to a few sources: `python -m tests.imports.ctranslate2_import.ct2_golden` writes it.

It needs the Python of the other engines; tests that compare with the file do not.
"""

import json
import tempfile
from collections.abc import Sequence
from pathlib import Path

from tests.imports.ctranslate2_import.ct2_imported import Ids, their_targets
from tests.imports.ctranslate2_import.ct2_written import (
    SPECIAL,
    VARIANTS,
    Ct2Variant,
    languages_of,
    sources_of,
    vocabularies_of,
    write_ct2_folder,
)

GOLDEN_FILE = Path(__file__).with_name("ct2_golden.json")
NUM_GOLDEN = 10


def complete(variant: Ct2Variant, sources: Sequence[Ids]) -> list[Ids]:
    """Return sources with what callers of CTranslate2 add themselves: a language and the end."""
    before = [vocabularies_of(variant)[0].index(token) for token in languages_of(variant)[0]]
    after = [SPECIAL.index("</s>")] if before else []
    return [[*before, *source, *after] for source in sources]


def said_by_ctranslate2(
    folder: Path, variant: Ct2Variant, sources: Sequence[Ids], beam_size: int
) -> list[tuple[Ids, bool]]:
    """Return the ids of each target, and whether it ended; `sources` are pieces alone."""
    prefix = languages_of(variant)[1]
    return their_targets(folder, vocabularies_of(variant), complete(variant, sources), prefix, beam_size)


def main() -> None:
    found: dict[str, list[tuple[Ids, bool]]] = {}
    for name, variant in VARIANTS.items():
        with tempfile.TemporaryDirectory() as scratch:
            folder = write_ct2_folder(Path(scratch), variant)
            found[name] = said_by_ctranslate2(folder, variant, sources_of(variant, NUM_GOLDEN), 1)
    lines = (f"{json.dumps(name)}: {json.dumps(targets)}" for name, targets in found.items())
    GOLDEN_FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf8")


if __name__ == "__main__":
    main()
