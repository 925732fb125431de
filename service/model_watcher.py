"""Another look at the bundles' folders, now and then or on request."""

import logging
from collections.abc import Mapping

import anyio
import anyio.to_thread
from anyio import CapacityLimiter

from dragoman.routing.bundle_scan import ReloadReport
from dragoman.routing.router import Router

logger = logging.getLogger(__name__)


class Watcher:
    """Lets a router look at its folders, beside the event loop and once at a time, and logs what it finds."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._limiter = CapacityLimiter(1)
        self._known_problems: dict[str, tuple[str, ...]] = {}
        self._log_new_problems(router.problems)

    async def look(self) -> ReloadReport:
        """Look once."""
        report = await anyio.to_thread.run_sync(self._router.reload, limiter=self._limiter)
        if not report.is_empty:
            logger.info(
                "models added: %s; changed: %s; removed: %s",
                *(", ".join(names) or "none" for names in (report.added, report.changed, report.removed)),
            )
        self._log_new_problems(report.problems)
        return report

    async def look_every(self, seconds: float) -> None:
        """Look again and again; a look that fails is logged, and others follow."""
        while True:
            await anyio.sleep(seconds)
            try:
                await self.look()
            except Exception:
                logger.exception("the models' folders could not be looked at")

    def _log_new_problems(self, problems: Mapping[str, tuple[str, ...]]) -> None:
        """Folders that cannot be served are the operator's to mend, and told once."""
        for folder, found in problems.items():
            if self._known_problems.get(folder) != found:
                logger.warning("%s cannot be served: %s", folder, "; ".join(found))
        self._known_problems = dict(problems)
