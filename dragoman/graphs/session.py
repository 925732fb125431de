"""onnxruntime in one place: providers, threads, optimisations."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import onnxruntime

from dragoman.bundle import Bundle
from dragoman.contract import Port
from dragoman.errors import BundleError

DISABLED_OPTIMISERS = ["SkipLayerNormFusion"]
"""Fuses Add and LayerNormalization into an operator that was eight times slower when measured."""
FATAL_ONLY = 4


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """How a graph runs."""

    threads: int = 1
    """Of one run. onnxruntime would otherwise count the host's cores, not the container's."""


def open_session(
    bundle: Bundle,
    file: str,
    ports: tuple[Sequence[Port], Sequence[Port]],
    options: SessionOptions,
) -> onnxruntime.InferenceSession:
    """Load a graph and check its inputs and outputs against the contract.

    Args:
        bundle: already verified.
        file: the graph's name in the bundle.
        ports: inputs and outputs that the contract lists.
        options: threads.

    Raises:
        BundleError: onnxruntime refuses the graph, or it is not what the contract says.
    """
    onnxruntime.disable_telemetry_events()
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    settings.inter_op_num_threads = 1
    settings.log_severity_level = FATAL_ONLY  # what goes wrong is raised, and said once
    try:
        session = onnxruntime.InferenceSession(
            str(bundle.file(file)),
            settings,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=DISABLED_OPTIMISERS,
        )
    except Exception as error:  # onnxruntime raises a dozen types of its own without a common root
        raise BundleError(str(bundle.path), (f"{file} cannot be loaded: {error}",)) from error
    inputs, outputs = ports
    problems = [
        *_differences(file, "input", session.get_inputs(), inputs),
        *_differences(file, "output", session.get_outputs(), outputs),
    ]
    if problems:
        raise BundleError(str(bundle.path), tuple(problems))
    return session


def _differences(
    file: str, kind: str, found: Iterable[onnxruntime.NodeArg], ports: Sequence[Port]
) -> list[str]:
    types = {
        "bool": "tensor(bool)",
        "float32": "tensor(float)",
        "int8": "tensor(int8)",
        "int32": "tensor(int32)",
        "int64": "tensor(int64)",
    }
    expected = {port.name: (types[port.dtype], len(port.axes)) for port in ports}
    actual = {argument.name: (argument.type, len(argument.shape)) for argument in found}
    return [
        f"{file}: {kind} {name} is {actual.get(name, 'missing')}, expected {expected.get(name, 'none')}"
        for name in sorted(expected.keys() | actual.keys())
        if expected.get(name) != actual.get(name)
    ]
