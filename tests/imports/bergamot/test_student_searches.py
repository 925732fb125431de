"""Every search of the engine on an imported student, with both kinds of kernels."""

from pathlib import Path

import pytest

from dragoman import DecodingOptions, EngineRequest, Term, Terminology, Translator
from dragoman.decoding.options import Sampling
from dragoman.providers import Kernels
from tests.imports.bergamot.students import Student, import_student

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
