"""Messages for jobs that failed through no fault of their file."""

from service.http.errors import SERVER_FAILED

MODEL_FAILED = "the model cannot be opened; the server's log says why"
FILE_GONE = "its file no longer exists"
UNREADABLE = "it cannot be read from the database; see the server's log"
MAX_SETBACKS = 4
"""Number of consecutive attempts that die or break off without any progress, after which a job fails."""
MANY_SETBACKS = f"{MAX_SETBACKS} attempts in a row failed without progress; the server's log says why"
SERVERS_FAULTS = frozenset({SERVER_FAILED, MODEL_FAILED, FILE_GONE, MANY_SETBACKS, UNREADABLE})
"""Messages of failures that no other file would have avoided."""
