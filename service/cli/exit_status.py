"""Exit statuses of the commands."""

EXIT_INCOMPLETE = 1
"""Something could not be done; the rest is."""
EXIT_FAILED = 2
"""Nothing, or not all, was done, for a reason that the message names."""
EXIT_BROKEN_PIPE = 128 + 13
"""The reader has closed the output. 13 is SIGPIPE, which Windows does not have."""
