"""Experiments compare what is alike in all but what is asked, and the trainer takes every recipe."""

from dataclasses import fields, replace
from pathlib import Path

import pytest

from bench.experiments.plan import BASE, PLANS, SHAPES, SIZES, TUTORIAL, Arm, Run, smoke_plan
from bench.experiments.recipe import Recipe, Texts, as_toml, cut, fingerprint, recipe_of
from training.config import load_config

COMPARED = [arm for arm in SHAPES.arms if arm is not TUTORIAL]
TEXTS = Texts(Path("train.tsv"), (Path("dev.de"), Path("dev.en")), (Path("test.de"), Path("test.en")), "free")
HASHES = {"train": "1", "dev": "2", "test": "3"}


RUNS = [run for plan in PLANS.values() for each in (plan, smoke_plan(plan)) for run in each.runs()]


def recipe(run: Run) -> Recipe:
    return recipe_of(run, TEXTS, Path("run"))


def changed(arm: Arm) -> set[str]:
    """Fields of the shape and the vocabulary in which an arm is not the first one."""
    pairs = ((arm.shape, BASE.shape), (arm.vocabulary, BASE.vocabulary))
    return {
        field.name
        for ours, theirs in pairs
        for field in fields(ours)
        if getattr(ours, field.name) != getattr(theirs, field.name)
    }


def test_arms_that_are_compared_have_the_same_budget() -> None:
    assert {arm.budget for arm in COMPARED} == {BASE.budget}


def test_decoder_depths_of_one_two_and_six_are_compared_at_equal_total_depth() -> None:
    shapes = [arm.shape for arm in COMPARED]

    assert {shape.decoder_layers for shape in shapes} == {1, 2, 6}
    assert len({shape.encoder_layers + shape.decoder_layers for shape in shapes}) == 1


def test_an_arm_differs_from_the_first_in_what_it_asks_alone() -> None:
    questions = [changed(arm) for arm in COMPARED if arm is not BASE]

    assert {"share_kv"} in questions
    assert {"is_shared"} in questions
    assert all(
        asked in ({"share_kv"}, {"encoder_layers", "decoder_layers"}, {"is_shared"}, {"is_shared", "size"})
        for asked in questions
    )


def test_two_small_vocabularies_have_as_many_rows_as_the_shared_one() -> None:
    sizes = [arm.vocabulary.size for arm in COMPARED if not arm.vocabulary.is_shared]

    assert sorted(sizes) == [BASE.vocabulary.size // 2, BASE.vocabulary.size]


def test_every_arm_is_trained_once_with_each_of_three_seeds() -> None:
    runs = SHAPES.runs()

    assert len(SHAPES.seeds) == 3
    assert len({(run.arm, run.seed) for run in runs}) == len(runs) == len(SHAPES.arms) * 3
    assert len({run.name for run in runs}) == len(runs)


def test_no_arm_has_its_second_seed_before_all_have_their_first() -> None:
    first, *others = SHAPES.passes()

    assert [run.seed for run in first] == [SHAPES.seeds[0]] * len(SHAPES.arms)
    assert {run.arm for run in first} == set(SHAPES.arms)
    assert all(run.seed != SHAPES.seeds[0] for one in others for run in one)


def test_sizes_differ_in_width_and_in_steps_alone() -> None:
    first = SIZES.arms[0]
    alike = {
        (
            replace(arm.shape, d_model=0, heads=0, ffn=0),
            arm.vocabulary,
            replace(arm.budget, steps=0, warmup_steps=0, decay_steps=0),
            arm.shape.d_model // arm.shape.heads,
            arm.shape.ffn // arm.shape.d_model,
        )
        for arm in SIZES.arms
    }

    assert len(alike) == 1
    assert len({arm.shape.d_model for arm in SIZES.arms}) == len(SIZES.arms)
    assert all(
        (arm.shape.d_model < first.shape.d_model) == (arm.budget.steps > first.budget.steps)
        for arm in SIZES.arms[1:]
    )


def test_the_longest_runs_of_a_pass_come_first() -> None:
    for one_pass in SHAPES.passes():
        steps = [run.arm.budget.steps for run in one_pass]
        assert steps == sorted(steps, reverse=True)


def test_arms_that_are_compared_have_all_their_seeds_before_another_has_its_second() -> None:
    arms = [run.arm for run in SHAPES.runs() if run.seed != SHAPES.seeds[0]]

    assert set(arms[: 2 * len(COMPARED)]) == set(COMPARED)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: str(run.name))
def test_the_trainer_takes_a_recipe_as_the_plan_means_it(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "recipe.toml"
    path.write_text(as_toml(recipe(run)), encoding="utf8")

    config = load_config(path)

    for section, meant in (
        (config.model, run.arm.shape),
        (config.vocabulary, run.arm.vocabulary),
    ):
        assert {field.name: getattr(section, field.name) for field in fields(meant)} == {
            field.name: getattr(meant, field.name) for field in fields(meant)
        }
    assert config.optimisation.seed == run.seed
    assert config.optimisation.steps == run.arm.budget.steps
    assert config.data.corpora[0].files == (TEXTS.train,)
    assert (config.validation.source, config.validation.target) == TEXTS.dev


def test_the_tutorials_learning_rate_is_the_same_from_first_step_to_last(tmp_path: Path) -> None:
    optimisers = pytest.importorskip("training.optimisers")
    path = tmp_path / "recipe.toml"
    path.write_text(as_toml(recipe(Run(TUTORIAL, 1))), encoding="utf8")

    schedule = load_config(path).optimisation

    steps = TUTORIAL.budget.steps
    assert {optimisers.learning_rate_factor(step, schedule) for step in range(steps)} == {1.0}


def test_a_fingerprint_does_not_ask_where_texts_lie() -> None:
    run = Run(BASE, 1)
    elsewhere = Texts(
        Path("/a/train.tsv"), (Path("/a/1"), Path("/a/2")), (Path("/a/3"), Path("/a/4")), "free"
    )

    assert fingerprint(recipe(run), HASHES) == fingerprint(
        recipe_of(run, elsewhere, Path("/a/run")), {**HASHES}
    )


@pytest.mark.parametrize(
    "other",
    [
        Run(BASE, 2),
        Run(replace(BASE, shape=replace(BASE.shape, share_kv=True)), 1),
        Run(replace(BASE, vocabulary=replace(BASE.vocabulary, size=7000)), 1),
        Run(replace(BASE, budget=replace(BASE.budget, steps=1001)), 1),
        Run(replace(BASE, budget=replace(BASE.budget, average_last=4)), 1),
    ],
)
def test_a_fingerprint_tells_recipes_apart(other: Run) -> None:
    assert fingerprint(recipe(Run(BASE, 1)), HASHES) != fingerprint(recipe(other), HASHES)


def test_a_fingerprint_tells_texts_apart() -> None:
    kept = recipe(Run(BASE, 1))

    assert fingerprint(kept, HASHES) != fingerprint(kept, {**HASHES, "test": "4"})


def test_a_rehearsal_reads_the_beginnings_of_the_texts(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("".join(f"{number}\n" for number in range(500)), encoding="utf8")
    plan = smoke_plan(SHAPES)

    used = cut(Texts(path, (path, path), (path, path), "free"), plan, tmp_path / "cut")

    for part, most in ((used.train, plan.most_pairs), (used.dev[1], 200), (used.test[0], 20)):
        assert part.read_text(encoding="utf8").split() == [str(number) for number in range(most or 0)]
    assert len({used.train, *used.dev, *used.test}) == 5


def test_the_real_plan_leaves_training_and_test_text_whole(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("line\n" * 500, encoding="utf8")

    used = cut(Texts(path, (path, path), (path, path), "free"), SHAPES, tmp_path / "cut")

    assert (used.train, used.test) == (path, (path, path))
