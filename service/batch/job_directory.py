"""Working files of a batch command, next to its output. One run at a time uses them."""

import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from filelock import FileLock, Timeout

from service.batch.errors import BatchError, JournalDamaged, OutputBusy, OutputProblem
from service.batch.files import sync_folder
from service.batch.journal import Journal
from service.batch.journal_file import JournalFile, remove_journal


class StartMode(Enum):
    """Treatment of existing files by a run."""

    NEW = "new"
    """Fail if output, or the journal of a stopped run, exists."""
    RESUME = "resume"
    """Resume a stopped run, or begin if there is none."""
    OVERWRITE = "overwrite"
    """Replace existing output."""


class NothingToResume(Exception):  # noqa: N818 -- not an error: the output is complete
    """The output exists without a journal: an earlier run is complete."""


@dataclass(frozen=True, slots=True)
class JobDirectory:
    """Files next to an output, which is a file or a folder."""

    output: Path

    @classmethod
    def of(cls, output: str) -> "JobDirectory":
        """Return the job directory of an output path, as the user typed it."""
        return cls(Path(os.path.abspath(output)))  # noqa: PTH100 -- unlike `resolve`, it keeps links

    @property
    def journal_path(self) -> Path:
        """The journal, which exists until the job is done."""
        return self._with_ending(".journal")

    @property
    def lock_path(self) -> Path:
        """The lock file: it exists while a run works and after it was killed; its content has no meaning."""
        return self._with_ending(".lock")

    @property
    def problems_path(self) -> Path:
        """JSON lines about entries that could not be translated or were cut."""
        return self._with_ending(".errors.jsonl")

    @property
    def partitions_path(self) -> Path:
        """The partitions, which exist while a cluster works and after a run on a cluster was stopped."""
        return self._with_ending(".partitions")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the lock of this directory until the block ends.

        Raises:
            OutputBusy: another run holds the lock.
            OutputProblem: nothing can be written here.
        """
        lock = FileLock(self.lock_path, timeout=0)
        try:
            self.lock_path.parent.mkdir(parents=True, exist_ok=True)
            lock.acquire()
        except Timeout as error:
            raise OutputBusy(str(self.output)) from error
        except OSError as error:
            raise OutputProblem(str(self.output), f"cannot write next to it: {error.strerror}") from error
        try:
            yield
        finally:
            with suppress(OSError):
                self.lock_path.unlink()  # while it is held, so that a waiting process notices the removal
            lock.release()

    @contextmanager
    def opened(self, targets: Sequence[Path], start: StartMode) -> Iterator[Journal]:
        """Open the journal of a run. Remove it when the block ends; if the block raises, keep what is in it.

        Args:
            targets: files that the job will write.
            start: how to treat existing files.

        Raises:
            NothingToResume: an earlier run is complete.
            OutputProblem: files exist that `start` does not allow.
            JournalDamaged, JournalFailed: the journal cannot be used.
        """
        was_there = self.journal_path.exists()
        if not was_there:
            self._check_existing(targets, start)
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
        if self.partitions_path.is_dir():  # left by a run on a cluster that this one resumed without it
            shutil.rmtree(self.partitions_path)
        remove_journal(self.journal_path)
        sync_folder(self.journal_path.parent)

    def _open_journal(self, start: StartMode) -> JournalFile:
        if start is not StartMode.OVERWRITE:
            return JournalFile.open(self.journal_path)
        # Emptied, not removed: if this run is killed now, old output must not pass for a complete run.
        try:
            with closing(JournalFile.open(self.journal_path)) as store:
                Journal(store).forget()
        except JournalDamaged:
            remove_journal(self.journal_path)
        return JournalFile.open(self.journal_path)

    def _check_begun(self, journal: Journal, targets: Sequence[Path]) -> None:
        if journal.num_outcomes():
            raise OutputProblem(
                str(self.output),
                f"an earlier run was stopped ({self.journal_path.name} exists); continue it with --resume, "
                "or start over with --force",
            )
        self._check_existing(targets, StartMode.NEW)
        journal.forget()

    def _check_existing(self, targets: Sequence[Path], start: StartMode) -> None:
        there = [path for path in (*targets, self.problems_path) if path.exists()]
        if not there or start is StartMode.OVERWRITE:
            return
        if start is StartMode.RESUME and all(path.exists() for path in targets):
            raise NothingToResume
        raise OutputProblem(str(there[0]), "already exists; replace it with --force")

    def _with_ending(self, ending: str) -> Path:
        return self.output.with_name(self.output.name + ending)


def _is_empty(journal: Journal) -> bool:
    """Return whether a journal can be removed without losing translations."""
    try:
        return not journal.num_outcomes()
    except BatchError:
        return False
