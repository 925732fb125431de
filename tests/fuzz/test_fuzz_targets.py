"""A few inputs for every fuzzing target, the same each time; `make fuzz` tries others for longer."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from service.formats.known import SUFFIXES
from tests.fuzz.all_targets import ALL
from tests.fuzz.http_targets import operations
from tests.fuzz.target import World, open_world

FEW = 40
FOUND = sorted((Path(__file__).parent / "found").glob("*/*"))
"""Inputs that once broke a rule, in folders by the names of their targets."""


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with open_world(tmp_path_factory.mktemp("fuzz")) as opened:
        yield opened


@pytest.mark.filterwarnings("ignore:Generating overly large repr", "ignore:Duplicate name")
@pytest.mark.parametrize("name", ALL)
def test_a_few_inputs_of_every_kind_break_no_rule(name: str, world: World) -> None:
    target = ALL[name]

    @settings(
        max_examples=FEW,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(target.inputs)
    def check(data: bytes) -> None:
        target.check(world, data)

    check()


def test_what_was_found_is_found_no_more(world: World) -> None:
    for path in FOUND:
        ALL[path.parent.name].check(world, path.read_bytes())


def test_every_format_and_every_route_has_a_target() -> None:
    formats = {f"format-{suffix.removeprefix('.')}" for suffix in SUFFIXES}
    routes = {
        operation.name
        for operation in operations()
        if "requestBody" in operation.described or operation.has_parameters
    }

    assert formats <= set(ALL)
    assert [route for route in routes if not any(name.startswith(f"http-{route}-") for name in ALL)] == []
