"""Kernels run on a GPU where there is one, else in Triton's interpreter; without Triton tests are skipped."""

import os
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest
import torch

WITHOUT_KERNELS = {"test_cuda_program.py"}
if not torch.cuda.is_available():
    os.environ.setdefault("TRITON_INTERPRET", "1")


class _SkippedModule(pytest.Module):
    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        pytest.skip("Triton is not installed; dragoman[cuda] has it", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Do not import tests of kernels where Triton is missing."""
    if find_spec("triton") is not None or module_path.name in WITHOUT_KERNELS:
        return None
    return _SkippedModule.from_parent(parent, path=module_path)
