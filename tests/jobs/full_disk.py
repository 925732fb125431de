"""A reader of files whose disk for temporary files is full."""

import tempfile
from io import BufferedRandom
from pathlib import Path

from service.formats import isolated_reader


def open_full() -> BufferedRandom:
    return Path("/dev/full").open("w+b")


if __name__ == "__main__":
    tempfile.TemporaryFile = open_full  # type: ignore[assignment]
    isolated_reader.main()
