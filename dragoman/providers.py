"""Kernels and onnxruntime's execution providers, which run the graphs, by their names in settings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from dragoman.errors import ProviderError

Kernels = Literal["auto", "onnxruntime", "native"]
"""Native kernels (`native`), onnxruntime, or the first of them that can run a bundle."""
ONNXRUNTIME = "onnxruntime"

Provider = Literal["cpu", "cuda", "tensorrt"]
EXECUTION_PROVIDERS: Mapping[Provider, str] = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
}
"""onnxruntime's names."""
PACKAGES: Mapping[Provider, str] = {
    "cpu": "onnxruntime",
    "cuda": "onnxruntime-gpu",
    "tensorrt": "onnxruntime-gpu",
}
"""Package of each provider; install only one, as each overwrites the other's files."""


def parse_providers(text: str) -> tuple[Provider, ...]:
    """Parse provider names such as `tensorrt,cuda,cpu`, in order of preference.

    Raises:
        ProviderError: see `check_providers`.
    """
    return check_providers([name.strip() for name in text.split(",")])


def check_providers(names: Sequence[str]) -> tuple[Provider, ...]:
    """Return valid names, in order of preference; does not check that the providers are available.

    Raises:
        ProviderError: there is no name, one is unknown or repeated, or one comes after the CPU.
    """
    known: dict[str, Provider] = {name: name for name in get_args(Provider)}
    listed = ",".join(names)
    for index, name in enumerate(names):
        if name not in known:
            raise ProviderError(name, f"is unknown; known are {', '.join(known)}")
        if name in names[:index]:
            raise ProviderError(name, f"is named twice in {listed}")
        if "cpu" in names[:index]:
            raise ProviderError(name, f"comes after cpu in {listed}; put cpu last")
    if not names:
        raise ProviderError("", f"is missing; give at least one of {', '.join(known)}")
    return tuple(known[name] for name in names)


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """Options of an onnxruntime session.

    Raises:
        ProviderError: the combination of providers is invalid.
    """

    threads: int = 1
    """Threads per run; set because onnxruntime counts the host's cores, not the container's."""
    providers: tuple[Provider, ...] = ("cpu",)
    """In order of preference; a node without a kernel in one provider goes to the next."""
    keeps_memory_on_device: bool = False
    """Whether K/V stay in the provider's own memory. Always so with a GPU; on the CPU it tests the same code,
    more slowly."""
    weights_dir: Path | None = None
    """Folder of files with the weights of native kernels, which processes share; None for none."""

    def __post_init__(self) -> None:
        check_providers(self.providers)

    @property
    def is_gpu(self) -> bool:
        return self.providers[0] != "cpu"

    @property
    def device_type(self) -> str | None:
        """Memory type of K/V in onnxruntime's terms; None for plain numpy arrays."""
        if self.is_gpu:
            return "cuda"
        return "cpu" if self.keeps_memory_on_device else None
