"""Translate any pair that the bundles serve, by one bundle or by two in a row."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

from dragoman.argument_types import checks_arguments
from dragoman.bundle import Bundle, verify_files
from dragoman.decoding.options import DecodingOptions
from dragoman.errors import BundleError, InputError
from dragoman.forking import renew_after_fork
from dragoman.loading import open_reading, open_spelling, verify_bundle
from dragoman.manifest import Manifest
from dragoman.pipeline.engine_request import DEFAULT_DECODING, EngineRequest, request_of
from dragoman.reading.reading_file import AS_WRITTEN
from dragoman.routing.bundle_pool import BundleHandle, BundlePool
from dragoman.routing.bundle_runner import BundleRunner, PairTranslator
from dragoman.routing.bundle_scan import BundleScanner, ReloadReport, VerifyBundle, bundle_folders, compare
from dragoman.routing.options import DEFAULT_ROUTER, DEFAULT_TRANSLATORS, RouterOptions, TranslatorOptions
from dragoman.routing.pivot_translation import PivotTranslation, request_of_step
from dragoman.routing.results import RoutedTranslation, single_step_result
from dragoman.routing.routes import Offer, Route, Routes
from dragoman.routing.windows import translate_windows
from dragoman.scheduling.metrics import QueueState, add_queues
from dragoman.text.alphabet import Spelling
from dragoman.translator import DEFAULT_REQUEST, JOB_REQUEST, READ_AHEAD_TEXTS
from dragoman.types import SegmentTranslation, Span

FindFolders = Callable[[], Mapping[str, Path]]
Models = Mapping[str, str | Path] | str | Path | FindFolders
"""A folder of bundles, which go by their folders' names; folders by name; or a function that finds them."""
PREPARING_THREADS = 4
"""Threads that prepare texts: those of a pivot's second step, and those that waited for a bundle."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A bundle that a router may use, and its state now."""

    offer: Offer
    manifest: Manifest
    is_open: bool
    memory_bytes: int
    """Estimated memory of the open bundle."""
    kernels: str | None
    """Those that run the open bundle; None if it is not open."""
    why_not_native: str
    """Why native kernels do not; "" if they do, or were not to."""


class Router:
    """Finds the bundles for a pair, opens them on first use, and closes them when memory is needed.

    Safe to use from several threads. A context manager: `close` ends its threads, which otherwise live as
    long as the process.
    """

    def __init__(
        self,
        find_folders: FindFolders,
        open_bundle: Callable[[Path], PairTranslator],
        estimate_bytes: Callable[[Manifest], int],
        options: RouterOptions = DEFAULT_ROUTER,
        verify: VerifyBundle = verify_files,
    ) -> None:
        """Read all manifests; open nothing.

        Args:
            find_folders: returns the bundles' folders by name; called again by `reload`.
            open_bundle: verifies and opens one.
            estimate_bytes: returns the memory that one takes.
            options: budget and pivots.
            verify: returns the problems of a bundle that `reload` finds new or changed.
        """
        self._inspector = BundleScanner(find_folders, verify)
        findings = self._inspector.scan_manifests()
        self.problems: Mapping[str, tuple[str, ...]] = findings.problems
        """Why folders cannot be used, by name, as of the last scan."""
        self._options = options
        self._estimate_bytes = estimate_bytes
        self._pool = BundlePool[PairTranslator](open_bundle, estimate_bytes, options.budget_bytes)
        self._pool.set_bundles(findings.bundles)
        self._routes = (-1, Routes(()))
        self._unopened: tuple[Bundle, Spelling] | None = None
        """A bundle that is asked for unknown words before it is open, and what it can spell."""
        self.renew()
        renew_after_fork(self)

    def renew(self) -> None:
        """Begin with no threads, as in a forked process."""
        self._threads = ThreadPoolExecutor(PREPARING_THREADS, "dragoman-route")
        self._reloading = threading.Lock()

    @classmethod
    @checks_arguments
    def open(
        cls,
        models: Models,
        *,
        translators: TranslatorOptions = DEFAULT_TRANSLATORS,
        options: RouterOptions = DEFAULT_ROUTER,
    ) -> "Router":
        """Open a router over bundles.

        Args:
            models: a folder of bundles, folders by name, or a function that returns these, which `reload`
                calls again.
            translators: how each is opened.
            options: budget and pivots.

        Raises:
            BundleError: there is no bundle that could be used.
        """
        find_folders = _finder(models)
        router = cls(find_folders, translators.open, translators.estimate_bytes, options, verify_bundle)
        if not router.offers():
            router.close()
            raise _none_usable(models, router.problems)
        return router

    def close(self) -> None:
        """Close all bundles; unfinished work fails with `TranslatorClosed`. Callbacks must not call this."""
        self._threads.shutdown(cancel_futures=True)
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def routes(self) -> Routes:
        """Routes over the bundles that may be used now."""
        version = self._pool.version
        known, routes = self._routes
        if known != version:
            offers = [self._offer(name, bundle) for name, bundle in self._pool.bundles().items()]
            routes = Routes(offers, self._options.pivots)
            self._routes = (version, routes)
        return routes

    def offers(self) -> tuple[Offer, ...]:
        """Return what may be used now, by name."""
        return self.routes.offers

    def models(self) -> tuple[ModelInfo, ...]:
        """Return the bundles that may be used now, with their state."""
        opened, bundles = self._pool.opened_by_name(), sorted(self._pool.bundles().items())
        return tuple(self._model(name, bundle, opened.get(name)) for name, bundle in bundles)

    def queue(self) -> QueueState:
        """Return how many segments wait and run now, in all open bundles together."""
        return add_queues(translator.queue() for translator in self._pool.opened())

    @property
    def used_bytes(self) -> int:
        """Estimated memory of the open bundles."""
        return self._pool.used_bytes

    @checks_arguments
    def route(self, source: str | None = None, target: str | None = None, model: str | None = None) -> Route:
        """Return the route from one language to another; see `Routes.find`.

        Raises:
            UnsupportedPair: nothing serves the pair, or a language was left open and there are several.
            InputError: there is no such model.
        """
        return self.routes.find(source, target, model)

    @checks_arguments
    def unknown_spans(self, route: Route, text: str) -> Sequence[Span]:
        """Return words of a text that a route's first vocabulary cannot spell; see `Alphabet.unknown_spans`.

        There are none if the bundle cannot be read: the translation fails with that error.
        """
        found = self._spelling(route.steps[0].offer.name)
        return () if found is None else found.unknown_spans(text)

    @checks_arguments
    def can_spell(self, route: Route, target: str) -> bool:
        """Return whether a route's last vocabulary can spell a translation; True if it cannot be read."""
        found = self._spelling(route.steps[-1].offer.name)
        return found is None or found.can_spell(target)

    def _spelling(self, name: str) -> PairTranslator | Spelling | None:
        """Return what knows what a bundle can spell; None if the bundle cannot be read."""
        opened = self._pool.opened_by_name().get(name)
        if opened is not None:
            self._unopened = None
            return opened
        bundle = self._pool.bundles().get(name)
        if bundle is None:
            return None
        unopened = self._unopened  # another thread may replace it
        if unopened is None or unopened[0] is not bundle:
            try:
                self._unopened = unopened = bundle, open_spelling(bundle)
            except BundleError:
                return None
        return unopened[1]

    @checks_arguments
    def translate(
        self,
        text: str,
        source: str | None = None,
        target: str | None = None,
        options: DecodingOptions = DEFAULT_DECODING,
        *,
        model: str | None = None,
    ) -> RoutedTranslation:
        """Translate one text, and wait for it; arguments and errors are those of `submit`."""
        return self.submit(text, source, target, EngineRequest(options), model=model).result()

    @checks_arguments
    def submit(
        self,
        text: str,
        source: str | None = None,
        target: str | None = None,
        request: EngineRequest | DecodingOptions = DEFAULT_REQUEST,
        *,
        model: str | None = None,
    ) -> Future[RoutedTranslation]:
        """Begin to translate a text. Returns soon: it never waits for a bundle to be opened.

        Args:
            text: a text of any length.
            source: its language; None where only one is possible.
            target: the language to translate into; None where only one is possible.
            request: the request, or its options alone. Its pair is not used, and its callbacks are for the
                last step. A pivot's first step ignores options about length and number of translations.
            model: the only bundle to use, by its name.

        Returns:
            The future translation. It may be cancelled until it is done; its work then ends within one step.
            It fails with `DeadlineExceeded`, and if a bundle had to be opened also with
            `MemoryBudgetExceeded`, `BundleError`, `ProviderError`, `KernelsError` or any error listed below.

        Raises:
            UnsupportedPair: nothing serves the pair, or a language was left open and there are several.
            InputError: the text cannot be translated, an option is beyond the model's limits, or there is no
                such model.
            Overloaded: too much is waiting already.
            TranslatorClosed: the router is closed.
        """
        return self.follow(self.route(source, target, model), text, request)

    @checks_arguments
    def follow(
        self, route: Route, text: str, request: EngineRequest | DecodingOptions = DEFAULT_REQUEST
    ) -> Future[RoutedTranslation]:
        """Begin to translate a text by a route that `route` returned; see `submit`."""
        translation = PivotTranslation(route, request_of(request, DEFAULT_REQUEST), self._runner())
        translation.begin(text)
        return translation.future

    @checks_arguments
    def score(
        self, route: Route, source: str, target: str, request: EngineRequest = DEFAULT_REQUEST
    ) -> Future[SegmentTranslation]:
        """Begin to score a given target; see `Translator.score`. Errors are those of `submit`.

        Raises:
            InputError: the route has two steps: nobody gave the text between them.
        """
        if len(route.steps) > 1:
            pivot = route.steps[0].pair.target
            raise InputError(
                "target", f"scoring needs a model that translates {route.pair} directly, not through {pivot}"
            )
        (step,) = route.steps
        request = request_of_step(request, route, 0)
        return self._runner().start(
            step.offer.name,
            request.deadline.at_s,
            lambda translator: translator.score(source, target, request),
        )

    @checks_arguments
    def translate_many(
        self,
        texts: Iterable[str],
        source: str | None = None,
        target: str | None = None,
        request: EngineRequest | DecodingOptions = JOB_REQUEST,
        read_ahead: int = READ_AHEAD_TEXTS,
        *,
        model: str | None = None,
    ) -> Iterator[RoutedTranslation | InputError]:
        """Translate lazily and in order, with at most `read_ahead` texts in progress.

        The bundle stays open meanwhile. Through a pivot, `read_ahead` texts at a time go through one bundle
        and then the other, so that memory for one of them is enough.

        Yields:
            Per text its translation, or the error that names it by its position.
        """
        route, request = self.route(source, target, model), request_of(request, JOB_REQUEST)
        if len(route.steps) > 1:
            yield from translate_windows(route, iter(texts), request, read_ahead, self._acquire)
            return
        (step,) = route.steps
        request = request_of_step(request, route, 0)
        with self._acquire(step.offer.name) as translator:
            for outcome in translator.translate_many(texts, request, read_ahead):
                yield outcome if isinstance(outcome, InputError) else single_step_result(route, outcome)

    @checks_arguments
    def preload(self, names: Sequence[str]) -> None:
        """Open bundles now, and wait until all are open.

        Raises:
            InputError: there is no such model.
            BundleError: one cannot be opened, or together they are over the memory budget.
            ProviderError, KernelsError: what is to run one cannot be used.
        """
        bundles = self._pool.bundles()
        offers = {self.routes.named(name).name for name in names}
        needed_bytes = sum(self._estimate_bytes(bundles[name].manifest) for name in offers)
        budget_bytes = self._options.budget_bytes
        if len(offers) > 1 and budget_bytes is not None and needed_bytes > budget_bytes:
            problem = (
                f"together they need about {needed_bytes} bytes of memory, but the budget is {budget_bytes}"
            )
            raise BundleError(", ".join(names), (problem,))
        for name in sorted(offers):
            self._acquire(name).release()

    def reload(self) -> ReloadReport:
        """Scan the folders again. Work in progress goes on; changed bundles are opened on their next use."""
        with self._reloading:
            before = self._pool.bundles()
            findings = self._inspector.scan(before)
            self._pool.set_bundles(findings.bundles, findings.problems.keys())
            self.problems = findings.problems
            return replace(compare(before, self._pool.bundles()), problems=findings.problems)

    def _offer(self, name: str, bundle: Bundle) -> Offer:
        controls = bundle.manifest.controls
        formality = None if controls is None else controls.formality
        targets = frozenset(() if formality is None else formality.targets)
        is_fallback = bundle.path.parent == self._options.fallback_dir
        try:
            reading = open_reading(bundle)
        except BundleError:  # so does the translation
            reading = AS_WRITTEN
        return Offer(name, bundle.manifest.name, bundle.manifest.languages, targets, is_fallback, reading)

    def _model(self, name: str, bundle: Bundle, opened: PairTranslator | None) -> ModelInfo:
        return ModelInfo(
            self._offer(name, bundle),
            bundle.manifest,
            opened is not None,
            self._estimate_bytes(bundle.manifest),
            None if opened is None else opened.kernels,
            "" if opened is None else opened.why_not_native,
        )

    def _runner(self) -> BundleRunner:
        """Return a runner whose threads have the caller's context, by which metrics label segments."""
        context = copy_context()
        return BundleRunner(self._pool, lambda work: self._threads.submit(context.copy().run, work))

    def _acquire(self, name: str) -> BundleHandle[PairTranslator]:
        """Wait for a bundle."""
        acquired = self._pool.acquire(name)
        try:
            return acquired.result()
        except BaseException:  # an interrupt: nobody else would release it
            if not acquired.cancel() and not acquired.exception():
                acquired.result().release()
            raise


def _finder(models: Models) -> FindFolders:
    if callable(models):
        return models
    if isinstance(models, Mapping):
        folders = {name: Path(path) for name, path in models.items()}
        return lambda: folders
    folder = Path(models)
    return lambda: bundle_folders(folder)


def _none_usable(models: Models, problems: Mapping[str, tuple[str, ...]]) -> BundleError:
    folders = models() if callable(models) else models
    where = ", ".join(map(str, folders.values())) if isinstance(folders, Mapping) else str(folders)
    if isinstance(folders, Mapping) and len(problems) == 1:
        return BundleError(where, *problems.values())
    listed = tuple(f"{name}: {problem}" for name, found in problems.items() for problem in found)
    return BundleError(where, listed or ("it contains no bundle",))
