"""The comparison of a provider with the CPU, run on the CPU itself."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from bench import device_parity
from bench.device_parity import compare_loads, compare_scores, compare_search, compare_texts
from bench.provenance import RESULTS, read_result
from bench.workloads import EOS_ID
from dragoman import Translator
from dragoman.text.tokenizer import Tokenizer
from tests.bench.tiny_pairs import PAIRS, TINY, write_sides

BUNDLE = TINY / "bundle-fp32"
SOURCES, REFERENCES = ([pair[column] for pair in PAIRS[:6]] for column in (0, 1))
MEASURED = read_result(RESULTS / "gpu-parity.json")


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = tmp_path_factory.mktemp("parity")
    files, output = write_sides(folder, "known", PAIRS[:6]), folder / "parity.json"
    words = ["--provider", "cpu", "--set", "known", *files, "--lines", "5", "--loads", "3"]

    device_parity.main([str(BUNDLE), *words, "--output", str(output)])

    found: dict[str, Any] = json.loads(output.read_text(encoding="utf8"))
    return found


@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_provider_is_like_itself(result: dict[str, Any], beam_size: int) -> None:
    texts, search = result[f"texts_beam_{beam_size}"], result[f"search_beam_{beam_size}"]
    loads = result[f"loads_beam_{beam_size}"]

    assert (texts["lines"], texts["identical"]) == (5, 5)
    assert texts["bleu"] == {"fp16_gpu": 100.0, "fp16_cpu": 100.0}
    assert (search["segments"], search["same_ids"], search["max_difference_of_sum_of_logprobs"]) == (5, 5, 0)
    assert {loads[name] for name in loads if name.startswith("same")} == {3}
    assert loads["max_difference_together_twice"] == 0


def test_every_token_of_the_targets_is_compared(result: dict[str, Any]) -> None:
    assert result["forced"]["tokens"] > len(SOURCES)
    assert result["forced"]["max_difference_of_logprob"] == result["forced"]["mean"] == 0


def test_the_result_on_the_gpu_has_what_the_command_writes(result: dict[str, Any]) -> None:
    assert _keys(result) == _keys(MEASURED)


class Other:
    """A translator whose translations, searches and scores are those of other sources."""

    def __init__(self, translator: Translator) -> None:
        self._translator = translator

    def __getattr__(self, name: str) -> Callable[..., Any]:
        call = getattr(self._translator, name)
        return lambda source, *rest: call(source[::-1], *rest)


def test_differences_are_seen() -> None:
    with Translator.open(BUNDLE, replicas=1) as cpu:
        other: Any = Other(cpu)
        sources = [[*pieces, EOS_ID] for pieces in Tokenizer.load(BUNDLE / "source.spm").encode(SOURCES)]

        assert compare_texts(other, cpu, SOURCES, REFERENCES, 1)["identical"] < len(SOURCES)
        assert compare_search(other, cpu, sources, 1)["same_ids"] < len(sources)
        assert compare_loads(other, SOURCES, sources, 1)["same_text_alone_and_together"] < len(SOURCES)
        assert compare_scores(other, cpu, SOURCES, REFERENCES)["max_difference_of_logprob"] > 0


def _keys(result: dict[str, Any]) -> dict[str, Any]:
    return {
        name: _keys(value) if isinstance(value, dict) else None
        for name, value in result.items()
        if name not in {"provenance", "kernels"}
    }
