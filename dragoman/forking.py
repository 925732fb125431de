"""Objects that begin anew in a forked process, which has none of its parent's threads.

Locks that these held at the fork stay locked there, and what they changed may be half changed.
"""

import ctypes
import os
from typing import Protocol
from weakref import WeakSet


class Renewable(Protocol):
    """An object with threads, or with locks that other threads use."""

    def renew(self) -> None:
        """Replace threads, locks and what they guard; called in a forked process before all else there."""
        ...


_objects: WeakSet[Renewable] = WeakSet()


def renew_after_fork(each: Renewable) -> None:
    """Call an object's `renew` in each process that is forked while it lives."""
    _objects.add(each)


def never_free(each: object) -> None:
    """Never destroy an object of the parent: that would wait for one of its threads or locks."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


def _renew_all() -> None:
    for each in list(_objects):
        each.renew()


if hasattr(os, "register_at_fork"):  # not on Windows, which cannot fork
    os.register_at_fork(after_in_child=_renew_all)
