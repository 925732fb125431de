"""The kernels' C++ library: found, loaded once, and called through ctypes.

The library is built when the package is installed, where there is a compiler. ctypes releases the
interpreter's lock during every call.
"""

import ctypes
from collections.abc import Callable
from contextlib import suppress
from ctypes import POINTER, Structure, byref, c_char_p, c_double, c_float, c_int32, c_int64, c_void_p
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent
PATTERN = "_kernels*.so"
ERRORS = {
    -1: (MemoryError, "the kernels found no memory"),
    -2: (IndexError, "an id, a row or a position is out of range"),
    -3: (ValueError, "the kernels do not know an instruction"),
    -4: (RuntimeError, "the kernels failed"),
}


class ModelSizes(Structure):
    """`ModelSizes` of `src/model.h`."""

    _fields_ = tuple(
        (name, c_int64)
        for name in ("width", "heads", "head_size", "decoder_layers", "num_cells", "alignment_layer")
    )


class InstructionRecord(Structure):
    """`Instruction` of `src/model.h`."""

    _fields_ = (
        *((name, c_int32) for name in ("kind", "source", "target", "other", "index", "zero", "activation")),
        ("step", c_float),
        ("alpha", c_float),
    )


class StepRequest(Structure):
    """`Request` of `src/api.cpp`."""

    _fields_ = (
        ("last_ids", c_void_p),
        ("num_best", c_int64),
        ("num_wanted", c_int64),
        ("wanted", c_void_p),
        ("logprobs", c_void_p),
        ("ids", c_void_p),
        ("attention", c_void_p),
    )


class NativeSearchOptions(Structure):
    """`SearchOptions` of `src/search.h`."""

    _fields_ = (
        ("forced", c_void_p),
        *(
            (name, c_int64)
            for name in (
                "num_forced",
                "num_hidden_forced",
                "begin_id",
                "max_tokens",
                "min_tokens",
                "num_hypotheses",
                "num_considered",
            )
        ),
        ("length_penalty", c_double),
        ("early_stopping", c_int32),
        ("can_spell_replacement", c_int32),
        ("wants_attention", c_int32),
    )


class HypothesisRecord(Structure):
    """`HypothesisRecord` of `src/api.cpp`."""

    _fields_ = (
        ("logprob", c_double),
        ("score", c_double),
        ("num_tokens", c_int64),
        ("is_stopped", c_int64),
        ("num_ids", c_int64),
        ("ids", POINTER(c_int32)),
        ("attention", POINTER(c_float)),
    )


_FUNCTIONS = {
    "best_kernels": (POINTER(c_char_p),),
    "new_model": (c_char_p, POINTER(ModelSizes), c_int32, c_int64, POINTER(c_void_p)),
    "free_model": (c_void_p,),
    "weights": (c_void_p, c_int64, POINTER(c_void_p), POINTER(c_int64)),
    "add_linear": (c_void_p, c_void_p, c_int64, c_int64, c_void_p, c_int64, c_void_p, c_float, c_int32),
    "add_norm": (c_void_p, c_void_p, c_void_p, c_float),
    "add_register": (c_void_p, c_int32, c_int32, c_int64),
    "set_embedding": (c_void_p, c_int32, c_void_p, c_void_p, c_int64, c_void_p, c_int64),
    "set_output": (c_void_p, c_void_p, c_int64, c_void_p, c_void_p, c_int32, c_int32),
    "set_program": (c_void_p, c_int32, POINTER(InstructionRecord), c_int64),
    "set_lists": (c_void_p, c_void_p, c_int64, c_void_p, c_int64),
    "add_shortlist": (c_void_p, c_void_p, c_int64, c_void_p, c_int64, c_void_p),
    "encode": (c_void_p, c_void_p, c_void_p, c_int64, c_void_p),
    "release": (c_void_p,),
    "new_steps": (c_void_p, c_int64, c_int32, POINTER(c_void_p)),
    "free_steps": (c_void_p,),
    "join": (c_void_p, c_void_p, c_int64),
    "step": (c_void_p, POINTER(StepRequest)),
    "select": (c_void_p, c_void_p, c_int64),
    "new_search": (
        *(c_void_p, c_int64, c_int32, c_int64, c_void_p, c_void_p, c_void_p, c_int64, c_int32, c_int32),
        POINTER(c_void_p),
    ),
    "free_search": (c_void_p,),
    "search_join": (c_void_p, c_void_p, POINTER(NativeSearchOptions), c_int64),
    "search_steps": (
        *(c_void_p, c_int64, POINTER(c_int64), c_int64, c_double),
        *(POINTER(c_int64), POINTER(c_int64)),
    ),
    "found_source": (c_void_p, c_int64, POINTER(c_int64), POINTER(c_int64), POINTER(c_int64)),
    "read_hypothesis": (c_void_p, c_int64, c_int64, POINTER(HypothesisRecord)),
    "search_remove": (c_void_p, c_char_p),
    "search_best_ids": (c_void_p, c_int64, c_void_p, c_int64, POINTER(c_int64)),
}
_WITHOUT_RESULT = frozenset(
    {"free_model", "release", "free_steps", "free_search", "found_source", "read_hypothesis"}
)


@cache
def library() -> ctypes.CDLL | None:
    """Return the library, or None if it was not built, or only an older one was."""
    for path in sorted(FOLDER.glob(PATTERN)):
        with suppress(OSError, AttributeError):
            return _opened(path)
    return None


def _opened(path: Path) -> ctypes.CDLL:
    loaded = ctypes.CDLL(str(path))
    for name, arguments in _FUNCTIONS.items():
        function = getattr(loaded, f"dragoman_{name}")
        function.argtypes = arguments
        function.restype = None if name in _WITHOUT_RESULT else c_int32
    return loaded


class LibraryObject:
    """An object of the library, freed with the last reference to this: not before, and not at exit.

    A thread that uses the object has such a reference. `weakref.finalize` would free at exit what threads
    still use, and takes 7 us more. The object's destructor must read no other object: of several that are
    collected together, any may be first.
    """

    def __init__(self, pointer: c_void_p | int | None, free: Callable[[c_void_p | int | None], None]) -> None:
        self.pointer = self._as_parameter_ = pointer
        self._free = free

    def __del__(self) -> None:
        self._free(self.pointer)


def best_kernels() -> str:
    """Return the name of the kernels for this processor, or "" if there are none."""
    loaded = library()
    name = c_char_p(b"")
    if loaded is not None:
        check(loaded.dragoman_best_kernels(byref(name)))
    return str(name.value or b"", "ascii")


def check(status: int) -> None:
    """Raise the error that a function returned.

    Raises:
        MemoryError: there was not enough.
        IndexError: an id, a row or a position is out of range.
        ValueError: an instruction is wrong.
        RuntimeError: anything else.
    """
    if status:
        error, message = ERRORS[status]
        raise error(message)
