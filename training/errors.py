"""Everything a run refuses or ends with on purpose.

TrainingError          the person who started the run can fix it
├─ ConfigError         the TOML file: every key at fault
├─ CorpusError         parallel text: file and line
├─ VocabularyError     SentencePiece cannot make the vocabulary asked for
├─ HeldOutError        validation lines
├─ RunFolderError      the run folder belongs to another run
└─ WorkerLostError     one of a run's processes ended before the others
TrainingStopped        a signal asked for it; nothing is wrong and nothing is lost
"""

import signal


class TrainingError(ValueError):
    """Root of what can be fixed in config or data; the message says where and how."""


class ConfigError(TrainingError):
    """The config cannot be used; names every wrong key."""


class CorpusError(TrainingError):
    """A corpus file is not what it should be; names file and line."""


class VocabularyError(TrainingError):
    """The text does not carry a vocabulary of the size asked for."""


class HeldOutError(TrainingError):
    """The validation files cannot be used; names file and line."""


class RunFolderError(TrainingError):
    """The run folder belongs to other data or to another model; says what to do."""


class WorkerLostError(TrainingError):
    """One of the processes of a run ended before the others; says which."""


class TrainingStopped(Exception):  # noqa: N818 -- an outcome asked for, not an error
    """The run ended early, at a signal, with a resume point written."""

    def __init__(self, signal_number: int, step: int) -> None:
        self.signal_number = signal_number
        self.step = step
        name = signal.Signals(signal_number).name
        super().__init__(f"stopped by {name} at step {step}; the same command goes on from there")
