"""Whether the server can translate now."""

from service.desk.inference import Inference
from service.front.errors import RETRY_AFTER, ApiError, ErrorKind


def require_ready(inference: Inference) -> None:
    """Refuse what comes before the server can translate."""
    if not inference.is_ready:
        raise ApiError(
            ErrorKind.NOT_READY,
            "the server has not translated its warm-up sentences yet; try again",
            headers=RETRY_AFTER,
        )
