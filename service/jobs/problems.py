"""What is told of jobs that failed, where their file is not at fault."""

from service.http.errors import SERVER_FAILED

MODEL_FAILED = "the model cannot be opened; the server's log says why"
FILE_GONE = "its file is gone"
UNREADABLE = "it cannot be read from the database; the server's log names it"
MAX_SETBACKS = 4
"""Of one job in a row: workers that died over it, or could not go on, and got no further than before."""
MANY_SETBACKS = (
    f"{MAX_SETBACKS} times in a row the work on it broke off and got no further; the server's log says why"
)
SERVERS_FAULTS = frozenset({SERVER_FAILED, MODEL_FAILED, FILE_GONE, MANY_SETBACKS, UNREADABLE})
"""No other file would have helped."""
