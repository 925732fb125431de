"""The deadline of the request that runs."""

from contextvars import ContextVar

from dragoman import Deadline

current_deadline: ContextVar[Deadline | None] = ContextVar("current_deadline", default=None)
"""Deadline of the request that runs; None before its body is complete, and for requests without one."""
