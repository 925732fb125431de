"""The terms of a request, found without blocking the event loop."""

from collections.abc import Sequence

from dragoman.errors import InputError
from dragoman.routing.routes import Route
from service.accounts.keys import Caller
from service.glossaries.glossary_service import GlossaryService
from service.glossaries.terminology import RequestTerminology, RequestTerms
from service.work.threads import run_in_thread


async def find_terms(
    glossaries: GlossaryService, caller: Caller, glossary_ids: Sequence[str], requested: RequestTerms
) -> RequestTerminology | None:
    """Return the terms of a request; None if it has none. See `GlossaryService.find_terms`."""
    if not glossary_ids:  # only glossaries need the database
        return glossaries.find_terms(caller, (), requested)
    return await run_in_thread(lambda: glossaries.find_terms(caller, glossary_ids, requested))


def check_route(terminology: RequestTerminology | None, route: Route) -> None:
    """Reject terms that cannot apply to any text of a route.

    Raises:
        InputError: a glossary has no entries for the pair, or the pair needs two models.
    """
    if terminology is None:
        return
    terminology.select(route.pair)
    if len(route.steps) > 1:
        through = route.steps[0].pair.target
        problem = f"{route.pair} goes through {through}; terms need one model for both languages"
        raise InputError("terms", problem)
