"""What onnxruntime may run graphs on, by the names that settings give it."""

from collections.abc import Mapping, Sequence
from typing import Literal, get_args

from dragoman.errors import ProviderError

Provider = Literal["cpu", "cuda", "tensorrt"]
EXECUTION_PROVIDERS: Mapping[Provider, str] = {
    "cpu": "CPUExecutionProvider",
    "cuda": "CUDAExecutionProvider",
    "tensorrt": "TensorrtExecutionProvider",
}
"""As onnxruntime calls them."""
PACKAGES: Mapping[Provider, str] = {
    "cpu": "onnxruntime",
    "cuda": "onnxruntime-gpu",
    "tensorrt": "onnxruntime-gpu",
}
"""What to install for each; never both, as each overwrites the other's files."""


def parse_providers(text: str) -> tuple[Provider, ...]:
    """`tensorrt,cuda,cpu` to names, the most wanted first.

    Raises:
        ProviderError: see `check_providers`.
    """
    return check_providers([name.strip() for name in text.split(",")])


def check_providers(names: Sequence[str]) -> tuple[Provider, ...]:
    """Names that make sense together, the most wanted first. Whether they are there is not asked here.

    Raises:
        ProviderError: there is none, one is unknown or named twice, or one stands behind the CPU.
    """
    known: dict[str, Provider] = {name: name for name in get_args(Provider)}
    listed = ",".join(names)
    for place, name in enumerate(names):
        if name not in known:
            raise ProviderError(name, f"is none of {', '.join(known)}")
        if name in names[:place]:
            raise ProviderError(name, f"stands twice in {listed}")
        if "cpu" in names[:place]:
            raise ProviderError(name, f"stands behind cpu in {listed}; the CPU takes all, so put it last")
    if not names:
        raise ProviderError("", f"is missing; give at least one of {', '.join(known)}")
    return tuple(known[name] for name in names)
