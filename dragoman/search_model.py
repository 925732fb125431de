"""A bundle's graphs and shortlist as the scheduler uses them, on onnxruntime or native kernels."""

import logging
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol, TypeVar

from dragoman.bundle import Bundle
from dragoman.contract import DECODER_FILE, ENCODER_FILE
from dragoman.decoding.lanes import open_lane
from dragoman.decoding.loop import AnyLane
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.errors import BundleError, DragomanError, KernelsError, ProviderError
from dragoman.forking import renew_after_fork
from dragoman.graphs.process_memory import compacted_memory
from dragoman.loading import open_shortlist
from dragoman.native.instructions import NotSupported
from dragoman.native.library import best_kernels
from dragoman.native.model import NativeModel, read_programs
from dragoman.native.onnx_file import OnnxFileError, external_files
from dragoman.native.search_lane import NativeSearchLane
from dragoman.native.search_state import EncodedSources, NativeEncoder, NativeSteps
from dragoman.native.weights_cache import WeightsCache
from dragoman.providers import ONNXRUNTIME, Kernels, SessionOptions
from dragoman.scheduling.policy import Capacity
from dragoman.shortlist import Shortlist
from dragoman.text.inflections import is_inflected
from dragoman.text.tokenizer import Tokenizer
from dragoman.types import Method, SearchKind

logger = logging.getLogger(__name__)
Loaded = TypeVar("Loaded")
CUDA_PACKAGES = ("torch", "triton")
GRAPHS = (ENCODER_FILE, DECODER_FILE)
FORKED = (
    "does not work in a process that was forked after the bundle was opened; open it in that process, or"
    " start processes with `spawn`"
)


class Backend(Protocol):
    """Runs the encoder and decoder steps. Safe to use from several threads, each with its own steps."""

    @property
    def kernels(self) -> str:
        """Name of what runs the graphs: `onnxruntime`, or the engine's kernels for this processor."""
        ...

    @property
    def why_not_native(self) -> str:
        """Why native kernels do not run the graphs; "" if they do, or were not to."""
        ...

    def encode(self, sources: Sequence[Sequence[int]]) -> Any:
        """Return the encoder's output for sources, with the candidates of each if there is a shortlist."""
        ...

    def open_lane(self, kind: SearchKind, target: TargetVocabulary) -> AnyLane[Any]:
        """Return an empty lane for a kind of search."""
        ...

    def capacity(self, replicas: int) -> Capacity | None:
        """Return the limits of each replica; None for those of the session."""
        ...


class NativeBackend:
    """The graphs on native kernels."""

    why_not_native = ""

    def __init__(self, bundle: Bundle, shortlist: Shortlist | None, weights_dir: Path | None) -> None:
        cache = None if weights_dir is None else WeightsCache(weights_dir)
        with compacted_memory():
            self._model = NativeModel(bundle, shortlist=shortlist, cache=cache)
        self._encoder = NativeEncoder(self._model)
        self.kernels = self._model.kernels

    def encode(self, sources: Sequence[Sequence[int]]) -> EncodedSources:
        return self._encoder.run(sources)

    def open_lane(self, kind: SearchKind, target: TargetVocabulary) -> AnyLane[EncodedSources]:
        if kind.method is Method.SEARCH:
            return NativeSearchLane(self._model, kind, target)
        return open_lane(kind, NativeSteps(self._model, kind), target)

    def capacity(self, replicas: int) -> None:
        del replicas


def open_backend(
    bundle: Bundle,
    session: SessionOptions,
    kernels: Kernels,
    target: TargetVocabulary,
    shortlist: Shortlist | None,
) -> Backend:
    """Load the graphs.

    Args:
        bundle: verified.
        session: where onnxruntime runs them; its kernels are for one thread on the CPU, or a GPU.
        kernels: `auto` for the engine's kernels wherever they can run the bundle.
        target: the target vocabulary.
        shortlist: None if every token may be used.

    Raises:
        BundleError: the graphs cannot be loaded.
        KernelsError: the kernels are required, and cannot run the bundle.
        ProviderError: a provider cannot be used.
    """
    _check_weights(bundle)

    def open_own(bundle: Bundle) -> Backend:
        if session.is_gpu:
            return _open_cuda(bundle, session, target, kernels)
        return NativeBackend(bundle, shortlist, session.weights_dir)

    native = _try_native(open_own, bundle, session, kernels)
    backend = _open_onnx(bundle, session, native, shortlist) if isinstance(native, str) else native
    reason = backend.why_not_native and f"; native kernels cannot run it: {backend.why_not_native}"
    logger.info("%s runs on %s%s", bundle.path, backend.kernels, reason)
    return backend


def _check_weights(bundle: Bundle) -> None:
    """Raise BundleError if weights are in a file that the manifest, which has checksums, does not list."""
    try:
        found = [(name, file) for name in GRAPHS for file in sorted(external_files(bundle.file(name)))]
    except OnnxFileError as error:
        raise BundleError(str(bundle.path), (str(error),)) from error
    problems = tuple(
        f"{name}: weights are in {file!r}, which the manifest does not list"
        for name, file in found
        if file not in bundle.manifest.files
    )
    if problems:
        raise BundleError(str(bundle.path), problems)


def _open_cuda(
    bundle: Bundle, session: SessionOptions, target: TargetVocabulary, kernels: Kernels
) -> Backend:
    # PyTorch takes seconds to import, and a server on a CPU does without.
    from dragoman.cuda.backend import CudaBackend  # noqa: PLC0415

    return CudaBackend(bundle, session, target, kernels)


def _open_onnx(
    bundle: Bundle, session: SessionOptions, why_not_native: str, shortlist: Shortlist | None
) -> Backend:
    # Native kernels do without onnxruntime, which takes 40 ms and 20 MB to import.
    from dragoman.graphs.backend import OnnxBackend  # noqa: PLC0415

    return OnnxBackend(bundle, session, why_not_native, shortlist)


def find_kernels(bundle: Bundle, session: SessionOptions, kernels: Kernels) -> tuple[str, str]:
    """Return `kernels` and `why_not_native` that the backend would have, without loading weights.

    Raises:
        KernelsError: the kernels are required, and cannot run the bundle.
    """

    def find_own(bundle: Bundle) -> tuple[str]:
        return (_find_cuda(bundle, kernels) if session.is_gpu else read_programs(bundle).kernels,)

    native = _try_native(find_own, bundle, session, kernels)
    return (ONNXRUNTIME, native) if isinstance(native, str) else (*native, "")


def _find_cuda(bundle: Bundle, kernels: Kernels) -> str:
    from dragoman.cuda.backend import check_heads, find_device  # noqa: PLC0415 -- as above
    from dragoman.cuda.program import read_programs as read_half_programs  # noqa: PLC0415

    read_half_programs(bundle)
    name = find_device(kernels)
    check_heads(bundle.manifest, kernels)
    return name


def has_native_kernels(session: SessionOptions, kernels: Kernels) -> bool:
    """Return whether native kernels run here what they can run of a bundle's graphs."""
    if kernels == ONNXRUNTIME or _session_problem(session):
        return False
    return _has_gpu(kernels) if session.is_gpu else bool(best_kernels())


def _has_gpu(kernels: Kernels) -> bool:
    from dragoman.cuda.backend import find_device  # noqa: PLC0415 -- as above

    try:
        return bool(find_device(kernels))
    except NotSupported:
        return False


def _try_native(
    load: Callable[[Bundle], Loaded], bundle: Bundle, session: SessionOptions, kernels: Kernels
) -> Loaded | str:
    """Return what `load` returns for the kernels, or why they do not run the bundle; "" if not wanted."""
    if kernels == ONNXRUNTIME:
        return ""
    problem = _session_problem(session)
    if not problem:
        try:
            return load(bundle)
        except NotSupported as error:
            problem = str(error)
    if kernels != "auto":
        raise KernelsError(kernels, str(bundle.path), problem)
    return problem


def _session_problem(session: SessionOptions) -> str:
    """Return why native kernels cannot run such sessions; "" if they can."""
    if session.providers[0] == "cuda":
        if any(find_spec(name) is None for name in CUDA_PACKAGES):
            return "dragoman[cuda] is not installed"
        return ""
    if session.device_type is not None:
        return f"they do not run on {session.providers[0]}"
    if session.threads != 1:
        return f"a replica has one thread with them, not {session.threads}"
    return ""


class SearchModel:
    """An encoder, and lanes that decode. Safe to use from several threads."""

    def __init__(
        self, bundle: Bundle, session: SessionOptions, tokenizer: Tokenizer, kernels: Kernels = "auto"
    ) -> None:
        """Load the graphs.

        Args:
            bundle: verified.
            session: where the graphs run.
            tokenizer: of the target.
            kernels: what runs the graphs; see `open_backend`.

        Raises:
            BundleError: the shortlist or the manifest does not fit the graphs.
            KernelsError: the kernels cannot run the bundle.
            ProviderError: a provider cannot be used.
        """
        manifest = bundle.manifest
        self._target = TargetVocabulary(
            manifest.special_ids.eos,
            manifest.sizes.target_vocab,
            tokenizer.byte_ids,
            tokenizer.text_of,
            is_inflected,
        )
        shortlist = open_shortlist(bundle)
        self.has_shortlist = shortlist is not None
        self._backend = open_backend(bundle, session, kernels, self._target, shortlist)
        self._session = session
        self._is_forked = False
        renew_after_fork(self)
        self._search_once(bundle)

    def renew(self) -> None:
        """Note that this is another process than the one that opened the graphs."""
        self._is_forked = True

    def _search_once(self, bundle: Bundle) -> None:
        """Search for the empty segment: if the manifest does not fit the graphs, each text would fail."""
        manifest = bundle.manifest
        begin = next(iter(manifest.languages.targets.values())).begin
        limits = TargetLimits(len(begin) + 1, 0)
        source = Source([manifest.special_ids.eos], limits, begin)
        try:
            lane = self.open_lane(SearchKind(beam_size=1, is_shortlisted=self.has_shortlist))
            lane.join([source], self.encode([source.ids]))
            while lane.sources:
                lane.step()
        except (MemoryError, DragomanError):
            raise
        except Exception as error:
            first_line = next(iter(str(error).splitlines()), type(error).__name__)
            problem = f"manifest.json: it does not fit the graphs: {first_line}"
            raise BundleError(str(bundle.path), (problem,)) from error

    @property
    def kernels(self) -> str:
        """Name of what runs the graphs: `onnxruntime`, or the engine's kernels for this processor."""
        return self._backend.kernels

    @property
    def why_not_native(self) -> str:
        """Why native kernels do not run the graphs; "" if they do, or were not to."""
        return self._backend.why_not_native

    def encode(self, sources: Sequence[Sequence[int]]) -> Any:
        """Return the encoder's output for sources, with the candidates of each if there is a shortlist.

        Raises:
            ProviderError: the graphs are on a GPU, and this process was forked later.
        """
        if self._is_forked and self._session.is_gpu:
            raise ProviderError(self._session.providers[0], FORKED)
        return self._backend.encode(sources)

    def capacity(self, replicas: int) -> Capacity | None:
        """Return the limits of each replica that the backend sets itself, if it does."""
        return self._backend.capacity(replicas)

    def open_lane(self, kind: SearchKind) -> AnyLane[Any]:
        """Return an empty lane for a kind of search."""
        return self._backend.open_lane(kind, self._target)
