"""The option that has the fuzzing targets tried with more inputs."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--fuzz-inputs", type=int, help="try so many inputs, drawn anew, of each fuzzing target")
