"""Text in, text out, for all the pairs that several bundles serve, alone or two in turn."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from dragoman.bundle import Bundle
from dragoman.decoding.options import DecodingOptions
from dragoman.errors import BundleError, InputError, TranslatorClosed
from dragoman.graphs.session import SessionOptions
from dragoman.loading import scheduler_options
from dragoman.manifest import Manifest
from dragoman.providers import Provider
from dragoman.routing.bundle_pool import BundleHandle, BundlePool
from dragoman.routing.bundle_scan import Inspector, ReloadReport, bundle_folders, compare
from dragoman.routing.memory import estimated_bytes
from dragoman.routing.pivot_translation import (
    NO_CALLBACKS,
    Callbacks,
    EngineRequest,
    PairTranslator,
    PivotTranslation,
)
from dragoman.routing.results import RoutedTranslation, alone
from dragoman.routing.routes import PIVOTS, Offer, Route, Routes
from dragoman.routing.scoring import Scoring, step_to_score
from dragoman.routing.windows import translate_windows
from dragoman.scheduling.fair_queue import Flow
from dragoman.scheduling.metrics import NO_METRICS, EngineMetrics, QueueState, add_queues
from dragoman.translator import DEFAULTS, QUEUE_SIZE, READ_AHEAD_TEXTS, Translator
from dragoman.types import Priority, SegmentTranslation

Models = Mapping[str, str | Path] | str | Path
"""A folder of bundles, which go by their folders' names; or folders by name."""
PREPARING_THREADS = 4
"""Texts that are taken apart beside: those of a pivot's second step, and those that waited for a bundle."""


@dataclass(frozen=True, slots=True)
class TranslatorOptions:
    """How every bundle is opened; see `Translator.open`."""

    replicas: int | None = None
    threads: int = 1
    queue_size: int = QUEUE_SIZE
    providers: tuple[Provider, ...] = ("cpu",)
    segment_cache_size: int = 0
    engine_metrics: EngineMetrics = NO_METRICS

    def open(self, path: Path) -> Translator:
        return Translator.open(
            path,
            replicas=self.replicas,
            threads=self.threads,
            queue_size=self.queue_size,
            providers=self.providers,
            segment_cache_size=self.segment_cache_size,
            engine_metrics=self.engine_metrics,
        )

    def estimate_bytes(self, manifest: Manifest) -> int:
        """Memory that a bundle takes when it is opened like this."""
        session = SessionOptions(self.threads, self.providers)
        return estimated_bytes(manifest, scheduler_options(session, self.replicas, self.queue_size).replicas)


@dataclass(frozen=True, slots=True)
class RouterOptions:
    """What a router goes by."""

    budget_bytes: int | None = None
    """Memory that all open bundles together may be reckoned to take; None for no limit."""
    pivots: tuple[str, ...] = PIVOTS
    """Languages to go through where nothing serves a pair in one step, the most wanted first; any other that
    will do comes after them."""


@dataclass(frozen=True, slots=True)
class Model:
    """A bundle that a router may use, as it is now."""

    offer: Offer
    manifest: Manifest
    is_open: bool
    memory_bytes: int
    """That it is reckoned to take when it is open."""


class Router:
    """Finds the bundles for a pair, opens them on first use, and closes them when memory is wanted.

    Safe to use from several threads. A context manager: `close` ends its threads, which otherwise live as
    long as the process.
    """

    def __init__(
        self,
        find_folders: Callable[[], Mapping[str, Path]],
        open_bundle: Callable[[Path], PairTranslator],
        estimate_bytes: Callable[[Manifest], int],
        options: RouterOptions = RouterOptions(),
    ) -> None:
        """Read all manifests; open nothing.

        Args:
            find_folders: bundles' folders by name; asked again by `reload`.
            open_bundle: verifies and opens one.
            estimate_bytes: memory that one takes.
            options: budget and pivots.
        """
        self._inspector = Inspector(find_folders)
        findings = self._inspector.first_look()
        self.problems: Mapping[str, tuple[str, ...]] = findings.problems
        """Why folders cannot be used, by name, as of the last look."""
        self._options = options
        self._reckon_bytes = estimate_bytes
        self._pool = BundlePool[PairTranslator](open_bundle, estimate_bytes, options.budget_bytes)
        self._pool.stock(findings.bundles)
        self._routes = (-1, Routes(()))
        self._beside = ThreadPoolExecutor(PREPARING_THREADS, "dragoman-route")
        self._pivot_translations: dict[Future[RoutedTranslation], PivotTranslation] = {}
        self._lock = threading.Lock()
        self._reloading = threading.Lock()
        self._is_closed = False

    @classmethod
    def open(
        cls,
        models: Models,
        *,
        translators: TranslatorOptions = TranslatorOptions(),
        options: RouterOptions = RouterOptions(),
    ) -> "Router":
        """A router over bundles.

        Args:
            models: a folder of bundles, or folders by name.
            translators: how each is opened.
            options: budget and pivots.

        Raises:
            BundleError: there is no bundle that could be used.
        """
        find_folders = _finder(models)
        router = cls(find_folders, translators.open, translators.estimate_bytes, options)
        if not router.offers():
            router.close()
            raise _none_usable(models, router.problems)
        return router

    def close(self) -> None:
        """Close all bundles; what is under way fails with `TranslatorClosed`. Not for callbacks to call."""
        with self._lock:
            self._is_closed = True
            pivot_translations = tuple(self._pivot_translations.values())
        for pivot_translation in pivot_translations:
            pivot_translation.fail(TranslatorClosed("the router was closed before this was translated"))
        self._beside.shutdown(cancel_futures=True)
        self._pool.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def routes(self) -> Routes:
        """Of the bundles that may be used now."""
        version = self._pool.version
        known, routes = self._routes
        if known != version:
            offers = [_offer(name, bundle) for name, bundle in self._pool.bundles().items()]
            routes = Routes(offers, self._options.pivots)
            self._routes = (version, routes)
        return routes

    def offers(self) -> tuple[Offer, ...]:
        """What may be used now, by name."""
        return self.routes.offers

    def models(self) -> tuple[Model, ...]:
        """The same, with all there is to tell."""
        names = self._pool.open_names()
        return tuple(
            Model(_offer(name, bundle), bundle.manifest, name in names, self._reckon_bytes(bundle.manifest))
            for name, bundle in sorted(self._pool.bundles().items())
        )

    def queue(self) -> QueueState:
        """How many segments wait and run now, in all open bundles together."""
        return add_queues(translator.queue() for translator in self._pool.opened())

    @property
    def used_bytes(self) -> int:
        """Memory that open bundles are reckoned to take."""
        return self._pool.used_bytes

    def route(self, source: str | None = None, target: str | None = None, model: str | None = None) -> Route:
        """The way from one language to another; see `Routes.find`.

        Raises:
            UnsupportedPair: nothing serves the pair, or a language was left open and there are several.
            InputError: there is no such model.
        """
        return self.routes.find(source, target, model)

    def translate(
        self,
        text: str,
        source: str | None = None,
        target: str | None = None,
        options: DecodingOptions = DEFAULTS,
        *,
        model: str | None = None,
    ) -> RoutedTranslation:
        """Translate one text, and wait for it; arguments and errors are those of `submit`."""
        return self.submit(text, source, target, options, model=model).result()

    def submit(
        self,
        text: str,
        source: str | None = None,
        target: str | None = None,
        options: DecodingOptions = DEFAULTS,
        *,
        model: str | None = None,
        priority: Priority = Priority.INTERACTIVE,
        timeout_s: float | None = None,
    ) -> Future[RoutedTranslation]:
        """Begin to translate a text. Returns soon: it never waits for a bundle to be opened.

        Args:
            text: a text of any length.
            source: its language; None where only one is possible.
            target: the language to translate into; None where only one is possible.
            options: wishes for the search; of a pivot's first step, only those that are not about length or
                number of translations.
            model: the only bundle to use, by its name.
            priority: who goes first when more waits than can run.
            timeout_s: seconds from now after which the text is given up; opening bundles and both steps of a
                pivot are within it.

        Returns:
            The translation to come. It may be cancelled until it is done; its work then ends within one
            step. It may fail with all that is listed below where a bundle is not open yet, and with
            `DeadlineExceeded`, `NoRoom`, `BundleError` or `ProviderError`.

        Raises:
            UnsupportedPair: nothing serves the pair, or a language was left open and there are several.
            InputError: the text cannot be translated, an option is beyond the model's limits, or there is no
                such model.
            Overloaded: too much is waiting already.
            TranslatorClosed: closed before.
        """
        return self.follow(self.route(source, target, model), text, options, priority, timeout_s)

    def follow(  # noqa: PLR0913 -- a text's own wishes, all named
        self,
        route: Route,
        text: str,
        options: DecodingOptions = DEFAULTS,
        priority: Priority = Priority.INTERACTIVE,
        timeout_s: float | None = None,
        watch: Callbacks = NO_CALLBACKS,
        *,
        flow: Flow | None = None,
        cache_partition: str = "",
    ) -> Future[RoutedTranslation]:
        """`submit`, for a route that was found before.

        `watch` is told of the last step's progress; `flow` is the request that the text is part of. Known
        segments are those of the `cache_partition`; see `SegmentCache`.
        """
        request = EngineRequest.beginning_now(options, priority, timeout_s, watch, flow, cache_partition)
        context = (
            copy_context()
        )  # a meter marks sources by their caller's, on whatever thread they are asked for

        def run_beside(work: Callable[[], None]) -> None:
            self._run_beside(partial(context.copy().run, work))

        pivot_translation = PivotTranslation(route, request, self._pool, run_beside)
        with self._lock:
            if self._is_closed:
                raise TranslatorClosed("the router is closed")
            self._pivot_translations[pivot_translation.future] = pivot_translation
        try:
            pivot_translation.begin(text)
        except BaseException:
            self._pivot_translations.pop(pivot_translation.future, None)
            raise
        # By the future, since a callback that knows its journey would make a cycle.
        pivot_translation.future.add_done_callback(lambda future: self._pivot_translations.pop(future, None))
        return pivot_translation.future

    def score(
        self,
        route: Route,
        source: str,
        target: str,
        priority: Priority = Priority.INTERACTIVE,
        timeout_s: float | None = None,
        flow: Flow | None = None,
        cache_partition: str = "",
    ) -> Future[SegmentTranslation]:
        """Begin to read a given target; see `Translator.score`. Errors are those of `submit`.

        Raises:
            InputError: the route has two steps.
        """
        request = EngineRequest.beginning_now(
            DEFAULTS, priority, timeout_s, NO_CALLBACKS, flow, cache_partition
        )
        scoring = Scoring(step_to_score(route), request, self._pool, self._run_beside)
        scoring.begin(source, target)
        return scoring.future

    def translate_many(
        self,
        texts: Iterable[str],
        source: str | None = None,
        target: str | None = None,
        options: DecodingOptions = DEFAULTS,
        read_ahead: int = READ_AHEAD_TEXTS,
        *,
        model: str | None = None,
        cache_partition: str = "",
    ) -> Iterator[RoutedTranslation | InputError]:
        """Translate lazily and in order, with at most `read_ahead` texts under way.

        Known segments are those of the `cache_partition`; see `SegmentCache`.

        A bundle that is in use like this stays open. Through a pivot, `read_ahead` texts at a time go through
        one bundle and then the other, so that there need not be room for both.

        Yields:
            Per text its translation, or the error that names it by its position.
        """
        route = self.route(source, target, model)
        if len(route.steps) > 1:
            yield from translate_windows(
                route, iter(texts), options, read_ahead, self._borrow, cache_partition
            )
            return
        ((offer, pair),) = route.steps
        with self._borrow(offer.name) as translator:
            for outcome in translator.translate_many(
                texts, options, read_ahead, pair=pair, cache_partition=cache_partition
            ):
                yield outcome if isinstance(outcome, InputError) else alone(route, outcome)

    def preload(self, names: Sequence[str]) -> None:
        """Open bundles now; returns when all are.

        Raises:
            InputError: there is no such model.
            BundleError: one cannot be opened, or together they are over the memory budget.
            ProviderError: a provider cannot be used.
        """
        bundles = self._pool.bundles()
        offers = {self.routes.named(name).name for name in names}
        needed_bytes = sum(self._reckon_bytes(bundles[name].manifest) for name in offers)
        budget_bytes = self._options.budget_bytes
        if len(offers) > 1 and budget_bytes is not None and needed_bytes > budget_bytes:
            problem = f"together they take about {needed_bytes} bytes of memory, the budget is {budget_bytes}"
            raise BundleError(", ".join(names), (problem,))
        for name in sorted(offers):
            self._borrow(name).release()

    def reload(self) -> ReloadReport:
        """Look at the folders again. Nothing under way is dropped; what changed is opened on its next use."""
        with self._reloading:
            before = self._pool.bundles()
            findings = self._inspector.look(before)
            self._pool.stock(findings.bundles, findings.problems.keys())
            self.problems = findings.problems
            return replace(compare(before, self._pool.bundles()), problems=findings.problems)

    def _run_beside(self, work: Callable[[], None]) -> None:
        self._beside.submit(work)

    def _borrow(self, name: str) -> BundleHandle[PairTranslator]:
        """Wait for a bundle."""
        asked = self._pool.acquire(name)
        try:
            return asked.result()
        except BaseException:  # an interrupt; nobody would give it back
            if not asked.cancel() and not asked.exception():
                asked.result().release()
            raise


def _offer(name: str, bundle: Bundle) -> Offer:
    return Offer(name, bundle.manifest.name, bundle.manifest.languages)


def _finder(models: Models) -> Callable[[], Mapping[str, Path]]:
    if isinstance(models, Mapping):
        folders = {name: Path(path) for name, path in models.items()}
        return lambda: folders
    folder = Path(models)
    return lambda: bundle_folders(folder)


def _none_usable(models: Models, problems: Mapping[str, tuple[str, ...]]) -> BundleError:
    where = ", ".join(map(str, models.values())) if isinstance(models, Mapping) else str(models)
    if isinstance(models, Mapping) and len(problems) == 1:
        return BundleError(where, *problems.values())
    listed = tuple(f"{name}: {problem}" for name, found in problems.items() for problem in found)
    return BundleError(where, listed or ("there is no bundle in it",))
