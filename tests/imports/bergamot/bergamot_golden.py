"""What Bergamot says to a few lines: `python -m tests.imports.bergamot.bergamot_golden` writes it down.

It needs the Python of `BERGAMOT_PYTHON`; tests that compare with the file do not.
"""

import json
import tempfile
from pathlib import Path

from tests.imports.bergamot.students import KINDS, make_student, said_by_bergamot

GOLDEN_FILE = Path(__file__).with_name("bergamot_golden.json")
NUM_GOLDEN = 40


def main() -> None:
    found: dict[str, list[str]] = {}
    for name, kind in KINDS.items():
        with tempfile.TemporaryDirectory() as scratch:
            student = make_student(Path(scratch) / name, kind)
            found[name] = said_by_bergamot(student, student.lines(NUM_GOLDEN))
    GOLDEN_FILE.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf8")


if __name__ == "__main__":
    main()
