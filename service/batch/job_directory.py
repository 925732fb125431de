"""Where a job of the shell keeps what it needs beside its output; one run at a time works there."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from filelock import FileLock, Timeout

from service.batch.errors import BatchError, JournalDamaged, OutputBusy, OutputProblem
from service.batch.files import sync_folder
from service.batch.journal import Journal
from service.batch.journal_file import JournalFile, remove_journal


class StartMode(Enum):
    """How a run begins."""

    NEW = "new"
    """Nothing may be there."""
    RESUME = "resume"
    """It goes on where one was stopped, or begins if none was."""
    ANEW = "anew"
    """What is there is replaced."""


class NothingToResume(Exception):  # noqa: N818 -- no error: all is there
    """The output is there and no journal is: a run before came to its end."""


@dataclass(frozen=True, slots=True)
class JobDirectory:
    """Files beside an output, be it a file or a folder."""

    output: Path

    @classmethod
    def beside(cls, output: str) -> "JobDirectory":
        """Of an output as it was named."""
        return cls(Path(os.path.abspath(output)))  # noqa: PTH100 -- unlike `resolve`, links stay what they are called

    @property
    def journal_path(self) -> Path:
        """There while a job is not done."""
        return self._beside(".journal")

    @property
    def lock_path(self) -> Path:
        """There while a run works, and after it was killed; what it holds means nothing."""
        return self._beside(".lock")

    @property
    def problems_path(self) -> Path:
        """What could not be translated, in JSON lines."""
        return self._beside(".errors.jsonl")

    @property
    def partitions_path(self) -> Path:
        """There while a cluster works, and after a run with one was stopped."""
        return self._beside(".partitions")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Work here alone.

        Raises:
            OutputBusy: another run works here.
            OutputProblem: nothing can be written here.
        """
        lock = FileLock(self.lock_path, timeout=0)
        try:
            self.lock_path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout as error:
            raise OutputBusy(str(self.output)) from error
        except OSError as error:
            raise OutputProblem(
                str(self.output), f"nothing can be written beside it: {error.strerror}"
            ) from error
        try:
            yield
        finally:
            with suppress(OSError):
                self.lock_path.unlink()  # while it is held: who waits for it sees that it is gone
            lock.release()

    @contextmanager
    def opened(self, targets: Sequence[Path], start: StartMode) -> Iterator[Journal]:
        """The journal of a run, which is removed when the block ends, and stays where it raises.

        Args:
            targets: files that the job will write.
            start: what may be there.

        Raises:
            NothingToResume: see there.
            OutputProblem: something is there that `start` does not allow for.
            JournalDamaged, JournalFailed: the journal cannot be used.
        """
        was_there = self.journal_path.exists()
        if not was_there:
            self._check_there(targets, start)
        store = self._open_journal(start)
        journal = Journal(store)
        try:
            if start is StartMode.NEW and was_there:
                self._check_begun(journal, targets)
            yield journal
        except BaseException:
            is_empty = _is_empty(journal)
            store.close()
            if is_empty:
                remove_journal(self.journal_path)
            raise
        store.close()
        if self.partitions_path.is_dir():  # of a run on a cluster, which this one may have gone on with alone
            shutil.rmtree(self.partitions_path)
        remove_journal(self.journal_path)
        sync_folder(self.journal_path.parent)

    def _open_journal(self, start: StartMode) -> JournalFile:
        if start is not StartMode.ANEW:
            return JournalFile.open(self.journal_path)
        # Emptied rather than removed: a run that is killed now is one to be resumed, whatever else is there.
        try:
            store = JournalFile.open(self.journal_path)
            Journal(store).forget()
        except JournalDamaged:
            remove_journal(self.journal_path)
            store = JournalFile.open(self.journal_path)
        return store

    def _check_begun(self, journal: Journal, targets: Sequence[Path]) -> None:
        if journal.num_outcomes():
            raise OutputProblem(
                str(self.output),
                f"a run was stopped before it was whole ({self.journal_path.name} is there); --resume goes "
                "on with it, --force begins anew",
            )
        self._check_there(targets, StartMode.NEW)
        journal.forget()

    def _check_there(self, targets: Sequence[Path], start: StartMode) -> None:
        there = [path for path in (*targets, self.problems_path) if path.exists()]
        if not there or start is StartMode.ANEW:
            return
        if start is StartMode.RESUME and all(path.exists() for path in targets):
            raise NothingToResume
        raise OutputProblem(str(there[0]), "is there already; --force replaces it")

    def _beside(self, ending: str) -> Path:
        return self.output.with_name(self.output.name + ending)


def _is_empty(journal: Journal) -> bool:
    """Whether nothing would be lost with it."""
    try:
        return not journal.num_outcomes()
    except BatchError:
        return False
