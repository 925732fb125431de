"""The build step that pyproject.toml cannot describe: the bundled models become data of `service`.

They stay in models/, where every command of a checkout finds them, and are copied into wheels only. The
container image builds without this file, because it has them in a folder of its own.
"""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

MODELS = Path("models")
BUNDLED = ("de-en", "en-de")
"""Models of a release. A checkout may have others, which are not ours to distribute."""
TARGET = Path("service", "bundled_models")


class BuildWithModels(build_py):
    """`build_py` that also copies the bundled models, except into an editable installation."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        target = Path(self.build_lib) / TARGET
        shutil.rmtree(target, ignore_errors=True)  # of an earlier build
        for name in BUNDLED:
            shutil.copytree(MODELS / name, target / name)


setup(cmdclass={"build_py": BuildWithModels})
