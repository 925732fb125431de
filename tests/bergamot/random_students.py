"""Counts of equal lines of students with random weights: `python -m tests.bergamot.random_students`.

Writes bench/results/students-random.json. `python -m bench.students` compares a trained student.
"""

import tempfile
from pathlib import Path

from bench.command import show
from bench.provenance import RESULTS, provenance, write_json
from tests.bergamot.students import KINDS, import_student, make_student, our_targets, said_by_bergamot

NUM_LINES = 200


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        bundle = Path(scratch)
        for name, kind in KINDS.items():
            bundle = Path(scratch) / f"{name}-bundle"
            precision = "int8" if kind.has_integers else "fp32"
            student = make_student(Path(scratch) / name, kind)
            import_student(student, bundle, precision)
            lines = student.lines(NUM_LINES)
            theirs = [line.strip() for line in said_by_bergamot(student, lines)]
            ours = [student.target.decode(ids).strip() for ids in our_targets(bundle, student.encode(lines))]
            equal = sum(one == other for one, other in zip(ours, theirs, strict=True))
            row = {"student": f"random: {name}", "precision": precision, "beam_size": 1}
            rows.append(row | {"sentences": len(lines), "equal": equal, "distinct": len(set(theirs))})
            show(rows[-1:])
        origin = provenance(bundle, "python -m tests.bergamot.random_students")
    write_json(RESULTS / "students-random.json", {"provenance": origin, "students": rows})


if __name__ == "__main__":
    main()
