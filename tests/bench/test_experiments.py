"""Plans, recipes and tables of the experiments; a rehearsal trains two tiny models from beginning to end."""

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from bench.experiments import PLANS, recipe_of, run_plan, scores_table, with_range
from training.config import TrainingConfig

PLAN_FILES = sorted(PLANS.glob("*.toml"))
TEXTS = {"train": [Path("train.tsv")], "dev": [Path("d.de"), Path("d.en")], "test": [Path("t"), Path("u")]}


def read_plan(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf8"))


@pytest.mark.parametrize("path", PLAN_FILES, ids=lambda path: str(path.stem))
def test_every_arm_of_every_plan_is_a_recipe_that_training_accepts(path: Path) -> None:
    plan = read_plan(path)
    for arm in plan["arms"]:
        content = f'run_dir = "runs/x"\n{recipe_of(plan, arm, 1, TEXTS)}'
        recipe = TrainingConfig.model_validate(tomllib.loads(content))
        model = {**plan["recipe"]["model"], **arm.get("model", {})}
        assert recipe.model.d_model == model["d_model"]


def test_an_arm_differs_from_the_plan_only_in_what_it_says() -> None:
    plan = read_plan(PLANS / "shapes.toml")
    base, tied = (tomllib.loads(recipe_of(plan, arm, 1, TEXTS)) for arm in plan["arms"][:2])
    assert {name for name in base if base[name] != tied[name]} == {"model"}
    assert tied["model"] == {**base["model"], "share_kv": True}


def test_a_range_is_shown_only_of_several_values() -> None:
    assert with_range([20.04]) == "20.0"
    assert with_range([20.0, 21.0]) == "20.5 (20.0 to 21.0)"


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_plan_runs_to_its_table_and_does_not_repeat_a_finished_run(tmp_path: Path) -> None:
    plan = read_plan(PLANS / "sizes.toml")
    plan["arms"] = [
        {**arm, "model": {"d_model": 64, "heads": 2, "ffn": 128, "encoder_layers": 1, "decoder_layers": 1}}
        for arm in plan["arms"][:2]
    ]
    for arm in plan["arms"]:
        arm["optimisation"] = {"steps": 2, "warmup_steps": 1, "decay_steps": 1}
        arm["vocabulary"] = {"size": 300}
        arm["validation"] = {"every_steps": 1, "num_lines": 4}
    texts = _write_texts(tmp_path)
    output = tmp_path / "experiments-tiny.json"

    run_plan(plan, texts, tmp_path / "runs", output, "x")

    result = json.loads(output.read_text("utf8"))
    assert [run["arm"] for run in result["runs"]] == [arm["name"] for arm in plan["arms"]]
    assert all(run["scores"] and run["parameters"] > 0 for run in result["runs"])
    assert scores_table(result).count("\n") == 3
    before = output.stat().st_mtime_ns
    run_plan(plan, texts, tmp_path / "runs", output, "x")
    assert output.stat().st_mtime_ns == before

    plan["arms"][0]["optimisation"]["steps"] = 3
    output.unlink()
    with pytest.raises(SystemExit, match="d-256-seed1 has a run with another recipe or other texts"):
        run_plan(plan, texts, tmp_path / "runs", output, "x")


def _write_texts(folder: Path) -> dict[str, list[Path]]:
    words = [
        f"{first}{second}" for first in ("ka", "mi", "lo", "tu") for second in ("nde", "ste", "rgo", "lux")
    ]
    pairs = [
        (f"Ein {words[number % 16]} und {words[number // 16]}.", f"A {words[number // 16]} and {number}.")
        for number in range(200)
    ]
    (folder / "train.tsv").write_text("".join(f"{source}\t{target}\n" for source, target in pairs), "utf8")
    files = {"dev": [folder / "dev.de", folder / "dev.en"], "test": [folder / "test.de", folder / "test.en"]}
    for paths, number in zip(files.values(), (200, 4), strict=True):
        for side, path in enumerate(paths):
            path.write_text("".join(f"{pair[side]}\n" for pair in pairs[:number]), "utf8")
    return {"train": [folder / "train.tsv"], **files}
