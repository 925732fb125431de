"""onnxruntime sessions: providers, threads, optimisations."""

import contextlib
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import onnxruntime

from dragoman.bundle import Bundle
from dragoman.contract import KEPT_ROWS, Port
from dragoman.cpus import has_vnni
from dragoman.errors import BundleError, ProviderError
from dragoman.providers import EXECUTION_PROVIDERS, PACKAGES, Provider, SessionOptions

DISABLED_OPTIMISERS = ["SkipLayerNormFusion"]
"""Fuses Add and LayerNormalization into an operator that was eight times slower on the CPU when measured."""
EXACT_PRODUCTS = "session.x64quantprecision"
"""Multiplies int8 weights as uint8 on x86-64 processors without VNNI, whose product of unsigned with signed
numbers saturates. On one with VNNI it only costs time: a fifth of a search when measured."""
FATAL_ONLY = 4
DEVICE_ID = 0
"""The first device that the process sees; CUDA_VISIBLE_DEVICES chooses which one that is."""
CPU_MEMORY = "Cpu"
"""onnxruntime's name for host memory."""
WITHOUT_CUDNN = 1 | 2 | 4 | 16 | 32 | 64
"""onnxruntime's kinds of attention but cuDNN's (8), which it prefers from compute capability 9.0 on. cuDNN
builds a graph, in some 20 ms, for each new number of rows and each new capacity of the caches."""
PROVIDER_OPTIONS: Mapping[Provider, Mapping[str, str]] = {"cuda": {"sdpa_kernel": str(WITHOUT_CUDNN)}}
GPU_PRECISION = "fp16"
"""CUDA has no kernels for float32 `GroupQueryAttention` or int8 products: the CPU's would run."""


def open_session(
    bundle: Bundle, file: str, ports: tuple[Sequence[Port], Sequence[Port]], options: SessionOptions
) -> onnxruntime.InferenceSession:
    """Load a graph and check its inputs and outputs against the contract.

    Args:
        bundle: a verified bundle.
        file: the graph's name in the bundle.
        ports: inputs and outputs that the contract lists.
        options: providers and threads.

    Raises:
        BundleError: onnxruntime rejects the graph, it differs from the contract, or its precision does not
            run on the provider.
        ProviderError: a provider is missing or unusable.
    """
    _check_available(options)
    _check_precision(bundle, options)
    try:
        session = new_session(bundle.file(file), options)
    except ProviderError:
        raise
    except Exception as error:  # onnxruntime raises a dozen types of its own without a common root
        if options.is_gpu and _loads_on_cpu(bundle.file(file)):
            raise ProviderError(options.providers[0], f"could not start: {str(error).strip()}") from error
        raise BundleError(str(bundle.path), (f"{file} cannot be loaded: {error}",)) from error
    inputs, outputs = ports
    problems = [
        *_differences(file, "input", session.get_inputs(), inputs),
        *_differences(file, "output", session.get_outputs(), outputs),
    ]
    if options.is_gpu:
        problems += [f"{file}: {name} is read on the CPU" for name in caches_read_on_cpu(session, inputs)]
    if problems:
        raise BundleError(str(bundle.path), tuple(problems))
    return session


def new_session(graph: Path, options: SessionOptions) -> onnxruntime.InferenceSession:
    """Load any graph.

    Raises:
        ProviderError: onnxruntime did not start the provider, and would have used another one.
        Exception: onnxruntime rejects the graph.
    """
    onnxruntime.disable_telemetry_events()
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = options.threads
    settings.inter_op_num_threads = 1
    settings.log_severity_level = FATAL_ONLY  # failures are raised as exceptions
    if not has_vnni():
        settings.add_session_config_entry(EXACT_PRODUCTS, "1")
    session = onnxruntime.InferenceSession(
        str(graph),
        settings,
        providers=[
            (EXECUTION_PROVIDERS[name], dict(PROVIDER_OPTIONS.get(name, {}))) for name in options.providers
        ],
        disabled_optimizers=[] if options.is_gpu else DISABLED_OPTIMISERS,
        enable_fallback=0,  # otherwise onnxruntime would hide a failure by running on the CPU
    )
    found = session.get_providers()
    for index, name in enumerate(options.providers):
        if found[index : index + 1] != [EXECUTION_PROVIDERS[name]]:
            problem = (
                f"could not start: {graph.name} would run on {', '.join(found)}; check the device and the"
                " libraries that docs/guides/gpu.md lists"
            )
            raise ProviderError(name, problem)
    return session


def caches_read_on_cpu(session: onnxruntime.InferenceSession, inputs: Sequence[Port]) -> list[str]:
    """Return K/V and cells that onnxruntime would copy when bound: no step would see what others wrote."""
    caches = {port.name for port in inputs if {"D", "N"} & set(port.axes)} - {KEPT_ROWS}
    arguments = zip(session.get_inputs(), session.get_input_memory_infos(), strict=True)
    return [
        argument.name for argument, index in arguments if argument.name in caches and index.name == CPU_MEMORY
    ]


def _loads_on_cpu(graph: Path) -> bool:
    try:
        new_session(graph, SessionOptions())
    except Exception:  # noqa: BLE001 -- any of the types above
        return False
    return True


def _check_available(options: SessionOptions) -> None:
    available = onnxruntime.get_available_providers()
    for name in options.providers:
        if EXECUTION_PROVIDERS[name] not in available:
            problem = (
                f"is missing in onnxruntime {onnxruntime.__version__}, which has {', '.join(available)};"
                f" install {PACKAGES[name]} instead of any other onnxruntime package"
            )
            raise ProviderError(name, problem)
    if options.is_gpu:
        with contextlib.redirect_stdout(sys.stderr):  # it prints what it does not find
            onnxruntime.preload_dlls()


def _check_precision(bundle: Bundle, options: SessionOptions) -> None:
    manifest = bundle.manifest
    if options.is_gpu and manifest.precision != GPU_PRECISION:
        problem = (
            f"precision {manifest.precision} does not run on {options.providers[0]}, only {GPU_PRECISION};"
            f" export the model with --precision {GPU_PRECISION}, or use the provider cpu"
        )
        raise BundleError(str(bundle.path), (problem,))
    if options.device_type is not None and manifest.cache_dtype == "int8":
        raise BundleError(str(bundle.path), ("cache_dtype int8 needs host memory; use the provider cpu",))


def _differences(
    file: str, kind: str, found: Iterable[onnxruntime.NodeArg], ports: Sequence[Port]
) -> list[str]:
    types = {
        "bool": "tensor(bool)",
        "float16": "tensor(float16)",
        "float32": "tensor(float)",
        "int8": "tensor(int8)",
        "uint8": "tensor(uint8)",
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
