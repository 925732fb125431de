"""The history of a run, one JSON line per event, and its plot."""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from matplotlib.figure import Figure

HISTORY_FILE = "history.jsonl"
PLOT_FILE = "history.png"
LOSS_EVERY_STEPS = 20
"""Interval at which the loss is recorded, in steps."""


@dataclass(frozen=True, slots=True)
class Event:
    """State of the run after a step: the training loss, or the scores of a validation."""

    step: int
    pairs_seen: int
    train_seconds: float
    loss: float | None = None
    bleu: float | None = None
    chrf: float | None = None
    direction: str | None = None
    """Direction of the scores, such as `de-en`; earlier releases had only one and did not record it."""


class History:
    """The events of a run, appended to a file as they happen."""

    def __init__(self, run_dir: Path) -> None:
        self.path = run_dir / HISTORY_FILE
        self.plot_path = run_dir / PLOT_FILE
        self.events = read_events(self.path)

    def rewind(self, step: int) -> None:
        """Delete the events after `step`: a resumed run records them again."""
        self.events = [event for event in self.events if event.step <= step]
        write_events(self.path, self.events)

    def append(self, event: Event) -> None:
        self.events.append(event)
        with self.path.open("a", encoding="utf8") as file:
            file.write(json.dumps(asdict(event)) + "\n")

    def best(self) -> Event | None:
        """Return the validation with the highest BLEU, or None if there is none."""
        scored = [event for event in self.events if event.bleu is not None]
        return max(scored, key=lambda event: event.bleu or 0.0, default=None)

    def plot(self) -> None:
        """Plot loss and scores against pairs seen, as PNG."""
        figure = Figure(figsize=(9, 4))
        margins = {"left": 0.08, "right": 0.98, "bottom": 0.13, "top": 0.95, "wspace": 0.18}
        loss_axes, score_axes = figure.subplots(1, 2, gridspec_kw=margins)
        losses = [event for event in self.events if event.loss is not None]
        scores = [event for event in self.events if event.bleu is not None]
        loss_axes.plot(
            [event.pairs_seen for event in losses], [event.loss for event in losses], linewidth=0.8
        )
        loss_axes.set(xlabel="pairs seen", ylabel="training loss (nats a token, smoothed labels)")
        for direction in dict.fromkeys(event.direction for event in scores):
            of_direction = [event for event in scores if event.direction == direction]
            pairs = [event.pairs_seen for event in of_direction]
            suffix = f" {direction}" if direction else ""
            score_axes.plot(pairs, [event.bleu for event in of_direction], marker=".", label=f"BLEU{suffix}")
            score_axes.plot(pairs, [event.chrf for event in of_direction], marker=".", label=f"chrF{suffix}")
        score_axes.set(xlabel="pairs seen", ylabel="validation score, greedy")
        if scores:
            score_axes.legend()
        for axes in (loss_axes, score_axes):
            axes.grid(visible=True, alpha=0.3)
        figure.savefig(self.plot_path, dpi=120)


def read_events(path: Path) -> list[Event]:
    """Read a history file; a missing one has no events."""
    if not path.exists():
        return []
    # A kill may have cut the last line short: text after the last line feed is not an event.
    lines = path.read_text(encoding="utf8").split("\n")[:-1]
    return [Event(**json.loads(line)) for line in lines]


def write_events(path: Path, events: Iterable[Event]) -> None:
    """Replace a history file."""
    partial = path.with_suffix(".partial")
    partial.write_text("".join(json.dumps(asdict(event)) + "\n" for event in events), encoding="utf8")
    partial.replace(path)
