"""Reloading of models: scans of their folders, at intervals or on request."""

import logging
from collections.abc import Mapping

import anyio
import anyio.to_thread
from anyio import CapacityLimiter

from dragoman.routing.bundle_scan import ReloadReport
from dragoman.routing.router import Router
from dragoman.routing.routes import describe

logger = logging.getLogger(__name__)


class ModelWatcher:
    """Has a router scan its folders, on a thread and one scan at a time, and logs the changes."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._limiter = CapacityLimiter(1)
        self._known_problems: dict[str, tuple[str, ...]] = {}
        self._known_replaced: set[tuple[str, str]] = set()
        self._log_news(router.problems)

    async def look(self) -> ReloadReport:
        """Scan once; return the changes."""
        report = await anyio.to_thread.run_sync(self._router.reload, limiter=self._limiter)
        if not report.is_empty:
            logger.info(
                "models added: %s; changed: %s; removed: %s",
                *(", ".join(names) or "none" for names in (report.added, report.changed, report.removed)),
            )
        self._log_news(report.problems)
        return report

    async def scan_every(self, seconds: float) -> None:
        """Scan at intervals for ever; log a scan that fails, and continue."""
        while True:
            await anyio.sleep(seconds)
            try:
                await self.look()
            except Exception:
                logger.exception("cannot scan the models folder")

    def _log_news(self, problems: Mapping[str, tuple[str, ...]]) -> None:
        """Log each problem of a folder once, as the operator must fix it, and each replaced model."""
        for fallback, other in self._router.routes.replaced():
            if (fallback.name, other.name) not in self._known_replaced:
                self._known_replaced.add((fallback.name, other.name))
                logger.info(
                    "%s serves %s before the bundled %s",
                    other.name,
                    describe(fallback.languages),
                    fallback.name,
                )
        for folder, found in problems.items():
            if self._known_problems.get(folder) != found:
                logger.warning("%s cannot be served: %s", folder, "; ".join(found))
        self._known_problems = dict(problems)
