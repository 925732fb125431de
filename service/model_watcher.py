"""Reloading of models: scans of their folders, at intervals or on request."""

import logging
from collections.abc import Mapping

import anyio
import anyio.to_thread
from anyio import CapacityLimiter

from dragoman.routing.bundle_scan import ReloadReport
from dragoman.routing.router import Router

logger = logging.getLogger(__name__)


class ModelWatcher:
    """Has a router scan its folders, on a thread and one scan at a time, and logs the changes."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._limiter = CapacityLimiter(1)
        self._known_problems: dict[str, tuple[str, ...]] = {}
        self._log_new_problems(router.problems)

    async def look(self) -> ReloadReport:
        """Scan once; return the changes."""
        report = await anyio.to_thread.run_sync(self._router.reload, limiter=self._limiter)
        if not report.is_empty:
            logger.info(
                "models added: %s; changed: %s; removed: %s",
                *(", ".join(names) or "none" for names in (report.added, report.changed, report.removed)),
            )
        self._log_new_problems(report.problems)
        return report

    async def scan_every(self, seconds: float) -> None:
        """Scan at intervals for ever; log a scan that fails, and continue."""
        while True:
            await anyio.sleep(seconds)
            try:
                await self.look()
            except Exception:
                logger.exception("cannot scan the models folder")

    def _log_new_problems(self, problems: Mapping[str, tuple[str, ...]]) -> None:
        """Log each problem of a folder once; the operator must fix it."""
        for folder, found in problems.items():
            if self._known_problems.get(folder) != found:
                logger.warning("%s cannot be served: %s", folder, "; ".join(found))
        self._known_problems = dict(problems)
