"""Errors that a training run raises, and the exception that stops it.

TrainingError          the person who started the run can fix it
├─ ConfigError         the TOML file: every wrong key
├─ CorpusError         parallel text: file and line
├─ VocabularyError     SentencePiece cannot make the vocabulary of the config
├─ HeldOutError        validation lines
├─ RunFolderError      the run folder belongs to another run
└─ WorkerLostError     one of a run's processes ended before the others
TrainingStopped        a signal stopped the run; nothing is wrong and nothing is lost
"""

import signal


class TrainingError(ValueError):
    """Base class of errors that can be fixed in config or data; the message says where and how."""


class ConfigError(TrainingError):
    """The config cannot be used; the message names every wrong key."""


class CorpusError(TrainingError):
    """A corpus file cannot be used; the message names file and line."""


class VocabularyError(TrainingError):
    """SentencePiece cannot make a vocabulary of the configured size, or `start_from` has none to copy."""


class HeldOutError(TrainingError):
    """The validation files cannot be used; the message names file and line."""


class RunFolderError(TrainingError):
    """The run folder belongs to other data or to another model; the message says what to do."""


class WorkerLostError(TrainingError):
    """A process of the run ended before the others; the message says which."""


class TrainingStopped(Exception):  # noqa: N818 -- a requested outcome, not an error
    """A signal ended the run early, after a resume point was written."""

    def __init__(self, signal_number: int, step: int) -> None:
        self.signal_number = signal_number
        self.step = step
        name = signal.Signals(signal_number).name
        super().__init__(f"stopped by {name} at step {step}; the same command goes on from there")
