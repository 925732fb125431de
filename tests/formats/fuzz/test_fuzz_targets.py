"""A few inputs for every fuzzing target, the same each time; `make fuzz` tries others, and more of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings

from tests.examples import FEW
from tests.formats.fuzz import format_targets, http_targets, reader_targets
from tests.formats.fuzz.http_targets import operations
from tests.formats.fuzz.target import World, open_world

MAX_INPUT_MS = 10_000
"""With `make fuzz`, what takes longer for one small input breaks a rule, too."""
TARGETS = {
    target.name: target
    for module in (format_targets, reader_targets, http_targets)
    for target in module.TARGETS
}
FOUND = sorted((Path(__file__).parent / "found").glob("*/*"))
"""Inputs that once broke a rule, in folders by the names of their targets."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with open_world(tmp_path_factory.mktemp("fuzz")) as opened:
        yield opened


@pytest.mark.filterwarnings("ignore:Generating overly large repr", "ignore:Duplicate name")
@pytest.mark.parametrize("name", TARGETS)
def test_inputs_of_every_kind_break_no_rule(name: str, world: World, pytestconfig: pytest.Config) -> None:
    num_inputs = pytestconfig.getoption("fuzz_inputs", None)
    chosen = settings(
        max_examples=num_inputs or FEW,
        derandomize=num_inputs is None,
        database=None,
        deadline=num_inputs and MAX_INPUT_MS,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )

    @chosen
    @given(TARGETS[name].inputs)
    def check(data: bytes) -> None:
        TARGETS[name].check(world, data)

    check()


def test_inputs_that_fuzzing_found_pass(world: World) -> None:
    for path in FOUND:
        TARGETS[path.parent.name].check(world, path.read_bytes())


def test_every_format_and_every_route_has_a_target() -> None:
    formats = {f"format-{suffix.removeprefix('.')}" for suffix in format_targets.OWN}
    routes = {
        operation.name
        for operation in operations()
        if "requestBody" in operation.described or operation.has_parameters
    }

    assert formats <= TARGETS.keys()
    assert [r for r in routes if not any(name.startswith(f"http-{r}-") for name in TARGETS)] == []
