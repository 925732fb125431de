"""An imported student says what Bergamot says of the same files, greedily as both run.

Both round the same products to the same integers. The rest is not the same: Marian keeps keys and values as
floats, the bundle rounds them; and where an activation is near the middle of two levels, the order of a sum
decides. In models with random weights each such level changes many later ones, so fewer targets are equal
than in trained models. In float, all targets are equal.
"""

import json
from pathlib import Path

import pytest

from dragoman import DecodingOptions, EngineRequest, Term, Terminology, Translator
from dragoman.decoding.options import Sampling
from dragoman.providers import Kernels
from tests.imports.bergamot.bergamot_golden import GOLDEN_FILE, NUM_GOLDEN
from tests.imports.bergamot.students import (
    BERGAMOT_PYTHON,
    EOS_ID,
    KINDS,
    LENGTH_FACTOR,
    UNK_ID,
    Student,
    import_student,
    our_targets,
    said_by_bergamot,
)

NUM_LINES = 200
MIN_EQUAL = {
    "shared": 0.7,
    "separate": 0.85,
    "norms": 0.7,
    "attention": 0.9,
    "differing-ranges": 0.7,
    "no-ranges": 0.75,
    "float": 1.0,
}
"""Share of lines to which both say the same."""


@pytest.fixture(scope="module")
def golden() -> dict[str, list[str]]:
    """What Bergamot said, by kind."""
    said: dict[str, list[str]] = json.loads(GOLDEN_FILE.read_text(encoding="utf8"))
    return said


def count_equal(student: Student, bundle: Path, precision: str, said: list[str]) -> int:
    """Import a student, and count the lines to which the bundle says the same."""
    import_student(student, bundle, precision)
    found = our_targets(bundle, student.encode(student.lines(len(said))))
    ours = [student.target.decode(ids).strip() for ids in found]
    return sum(one == other.strip() for one, other in zip(ours, said, strict=True))


@pytest.mark.parametrize("name", KINDS)
def test_a_bundle_translates_as_bergamot_does(
    name: str, students: dict[str, Student], golden: dict[str, list[str]], tmp_path: Path
) -> None:
    """As it did where it is not installed; `make .venv-bench/bergamot` installs it."""
    student, said = students[name], golden[name]
    if BERGAMOT_PYTHON.is_file():
        said = said_by_bergamot(student, student.lines(NUM_LINES))
        assert len(set(said)) > 10
    precision = "int8" if KINDS[name].has_integers else "fp32"

    equal = count_equal(student, tmp_path / "bundle", precision, said)

    assert said[:NUM_GOLDEN] == golden[name]
    assert equal >= MIN_EQUAL[name] * len(said)


def test_the_formulas_in_numpy_translate_as_bergamot_did(
    students: dict[str, Student], golden: dict[str, list[str]]
) -> None:
    student = students["attention"]  # without a shortlist
    reference = student.reference()
    sources = student.encode(student.lines(NUM_GOLDEN))

    found = [reference.greedy(ids, LENGTH_FACTOR * len(ids), EOS_ID, (UNK_ID,)) for ids in sources]

    said = [line.strip() for line in golden["attention"]]
    equal = sum(student.target.decode(ids).strip() == line for ids, line in zip(found, said, strict=True))
    assert equal >= 0.9 * NUM_GOLDEN


SEARCHES = {
    "beams": DecodingOptions(beam_size=4, num_hypotheses=2, max_length=12),
    "sampling": DecodingOptions(beam_size=1, sampling=Sampling(top_k=5, seed=1), max_length=12),
    "filters": DecodingOptions(no_repeat_ngram_size=2, repetition_penalty=1.5, max_length=12),
    "prefix": DecodingOptions(target_prefix="the", max_length=12),
    "alignment": DecodingOptions(return_alignment=True, return_tokens=True, max_length=12),
}


@pytest.fixture(scope="module")
def bundle(students: dict[str, Student], tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("searches") / "bundle"
    import_student(students["shared"], folder)
    return folder


@pytest.mark.parametrize("kernels", ["auto", "onnxruntime"])
def test_every_search_runs(bundle: Path, students: dict[str, Student], kernels: Kernels) -> None:
    lines = students["shared"].lines(3)
    with Translator.open(bundle, replicas=1, kernels=kernels) as ours:
        assert kernels == "auto" or ours.kernels == "onnxruntime"
        found = {
            name: [ours.translate(line, options) for line in lines] for name, options in SEARCHES.items()
        }
        aloud = ours.translate(lines[0], SEARCHES["beams"])
        score = ours.score(lines[0], aloud.text, EngineRequest())
        terms = Terminology((Term(lines[0].split()[0], ("house",)),))
        term = ours.translate(lines[0], DecodingOptions(beam_size=4, terminology=terms, max_length=20))

    assert found["beams"][0] == aloud
    assert all(each.segments[0].num_target_tokens for results in found.values() for each in results)
    assert all(each.text.startswith("the") for each in found["prefix"])
    assert all(segment.links is not None for each in found["alignment"] for segment in each.segments)
    assert score.result() is not None
    assert "house" in term.text.lower()
