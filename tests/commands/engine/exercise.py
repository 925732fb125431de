"""Exercises the kernels in a process of its own, in which a sanitizer or a crash ends all.

Usage: python -m tests.commands.engine.exercise LIBRARY_FOLDER KERNELS SEED BUNDLE...
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import onnx

from dragoman.bundle import Bundle, read_bundle
from dragoman.contract import DECODER_FILE, ENCODER_FILE
from dragoman.decoding.loop import StepLimit
from dragoman.decoding.strategy import Source, TargetLimits, TargetVocabulary
from dragoman.manifest import Manifest
from dragoman.native import library
from dragoman.native.instructions import NotSupported
from dragoman.native.model import NativeModel
from dragoman.native.search_lane import NativeSearchLane
from dragoman.native.search_state import EncodedSources, NativeEncoder, NativeSteps
from dragoman.shortlist import Shortlist
from dragoman.types import SearchKind

NUM_ROUNDS = 12
NUM_GRAPHS = 40
SHARES = (0, 0.01, 0.3, 1)
"""Of all tokens, on the lists of source pieces."""
Rng = np.random.Generator


class Exercise:
    """Random uses of a bundle."""

    def __init__(self, bundle: Bundle, kernels: str, rng: Rng) -> None:
        self.manifest, self.rng = bundle.manifest, rng
        self.target_vocab = bundle.manifest.sizes.target_vocab
        self.open_model = partial(NativeModel, bundle, kernels)
        self.model = self.open_model(self.random_shortlist())
        self.encoder = NativeEncoder(self.model)

    def run(self) -> None:
        for _ in range(NUM_ROUNDS):
            for action in (self.step_at_random, self.search):
                action()
        self.step_past_the_last_position()
        self.raise_errors()

    def random_shortlist(self) -> Shortlist:
        """Return a shortlist whose pieces list none to all tokens, the later ones more."""
        tokens, pieces = np.arange(self.target_vocab), range(self.manifest.sizes.source_vocab)
        lists = [
            tokens[self.rng.random(len(tokens)) < SHARES[piece * len(SHARES) // len(pieces)]]
            for piece in pieces
        ]
        offsets = np.cumsum([0, *map(len, lists)])
        return Shortlist.of(tokens[:0], offsets, np.concatenate(lists), self.target_vocab)

    def encode(self, num_sources: int) -> EncodedSources:
        """Encode short and long sources, with candidates of none to all tokens."""
        vocab, longest = self.manifest.sizes.source_vocab, self.manifest.limits.max_source_tokens
        lengths = self.rng.integers(1, min(70, longest) + 1, num_sources)
        ends = self.rng.integers(1, len(SHARES) + 1, num_sources) * vocab // len(SHARES)
        sources = [
            self.rng.integers(0, end, length).tolist() for end, length in zip(ends, lengths, strict=True)
        ]
        return self.encoder.run(sources)

    def random_kind(self) -> SearchKind:
        return SearchKind(int(self.rng.integers(1, 7)), bool(self.rng.integers(2)))

    def step_at_random(self) -> None:
        """Join, step and select in a random order, with more candidates than tokens now and then."""
        kind, rng = self.random_kind(), self.rng
        steps, num_rows = NativeSteps(self.model, kind), 0
        for _ in range(int(rng.integers(1, 25))):
            if not num_rows or rng.random() < 0.3:
                num_sources = int(rng.integers(0, 4))
                steps.join(self.encode(num_sources))
                num_rows += num_sources * kind.beam_size
            if not num_rows:
                continue
            last_ids = rng.integers(0, self.target_vocab, num_rows)
            wanted = rng.integers(0, self.target_vocab, (num_rows, 3))
            num_best = int(rng.choice([1, 5, 33, self.target_vocab + 9]))
            actions: Sequence[Callable[[], object]] = (
                lambda: steps.step(last_ids, num_best),  # noqa: B023 -- called at once
                lambda: steps.step_with(last_ids, num_best, wanted),  # noqa: B023
                lambda: steps.read(last_ids, wanted[:, 0]),  # noqa: B023
                lambda: steps.read(last_ids, None),  # noqa: B023
            )
            actions[int(rng.integers(len(actions)))]()
            if rng.random() < 0.5:
                slots = rng.integers(0, num_rows // kind.beam_size, rng.integers(0, 4))
                rows = (
                    slots[:, None] * kind.beam_size + rng.integers(0, kind.beam_size, kind.beam_size)
                ).ravel()
                steps.select(rows)
                num_rows = len(rows)

    def search(self) -> None:
        """Search for sources that join later and are removed, with forced ids and bytes as pieces."""
        kind, rng, eos_id = self.random_kind(), self.rng, self.manifest.special_ids.eos
        byte_ids = {id_: id_ % 256 for id_ in range(4, self.target_vocab)} if rng.integers(2) else {}
        target = TargetVocabulary(eos_id, self.target_vocab, byte_ids, str)
        lane = NativeSearchLane(self.model, kind, target)
        for _ in range(4):
            limits = TargetLimits(int(rng.integers(4, 40)), int(rng.integers(0, 4)))
            begin = (2, *rng.integers(4, 40, int(rng.integers(0, 3))).tolist())
            sources = [
                Source([eos_id], limits, begin, 1.0, kind.beam_size, wants_attention=bool(rng.integers(2)))
                for _ in range(int(rng.integers(1, 4)))
            ]
            lane.join(sources, self.encode(len(sources)))
            for _ in range(int(rng.integers(1, 12))):
                if lane.sources:
                    lane.step(StepLimit(int(rng.integers(1, 5))))
            if lane.sources:
                lane.best_ids(0)
                lane.remove([lane.sources[0]])
        while lane.sources:
            lane.step(StepLimit(100))

    def step_past_the_last_position(self) -> None:
        steps = NativeSteps(self.model, SearchKind(2))
        steps.join(self.encode(1))
        last_ids, num_steps = np.array([5, 5]), 0
        with suppress(IndexError):
            while num_steps < 1000:
                steps.step(last_ids, 3)
                num_steps += 1
        assert num_steps < 1000, "a row is longer than the table of positions"

    def raise_errors(self) -> None:
        """Whatever is out of range is an error, in steps of their own."""

        def steps() -> NativeSteps:
            found = NativeSteps(self.model, SearchKind(2))
            found.join(self.encode(2))
            return found

        free_encoder = NativeEncoder(self.open_model())
        for id_ in (-1, self.target_vocab, 2**63 - 1, -(2**63)):
            wrong = np.full(4, id_)
            self.expect(IndexError, lambda: steps().step(wrong, 3))  # noqa: B023 -- called at once
            self.expect(IndexError, lambda: steps().step_with(np.full(4, 5), 3, wrong[:, None]))  # noqa: B023
            self.expect(IndexError, lambda: steps().select(wrong))  # noqa: B023
            self.expect(IndexError, lambda: self.encoder.run([[5, id_]]))  # noqa: B023
            self.expect(IndexError, lambda: free_encoder.run([[5, id_]]))  # noqa: B023
        self.expect(IndexError, lambda: self.encoder.run([[]]))
        self.expect(IndexError, lambda: self.encoder.run([[5] * 5000]))
        self.raise_errors_of_shortlists()
        self.expect(ValueError, lambda: steps().step(np.full(3, 5), 3))
        self.expect(ValueError, lambda: steps().step_with(np.full(4, 5), 3, np.full((3, 1), 5)))
        self.expect(ValueError, lambda: steps().step(np.full(4, 5), -1))
        target = TargetVocabulary(self.manifest.special_ids.eos, self.target_vocab, {}, str)
        lane = NativeSearchLane(self.model, SearchKind(2), target)
        source = Source([5], TargetLimits(9, 0), (2,), prefix=(self.target_vocab,))
        self.expect(IndexError, lambda: lane.join([source], self.encode(1)))

    def raise_errors_of_shortlists(self) -> None:
        """Shortlists for another model name tokens that this one lacks, or lack its pieces."""
        none, outside, larger = np.arange(0), np.array([self.target_vocab]), self.target_vocab + 1
        for always, listed in ((outside, none), (none, outside)):
            other = Shortlist.of(always, np.array([0, len(listed)]), listed, larger)
            self.expect(IndexError, lambda: self.open_model(other))  # noqa: B023 -- called at once
        encoder = NativeEncoder(self.open_model(Shortlist.of(none, np.zeros(6, np.int64), none, larger)))
        encoder.run([[4]])
        self.expect(IndexError, lambda: encoder.run([[4, 5]]))

    @staticmethod
    def expect(error: type[Exception], action: Callable[[], object]) -> None:
        try:
            action()
        except error:
            return
        raise AssertionError(f"{error.__name__} was not raised")


def change_graph(model: onnx.ModelProto, rng: Rng) -> None:
    """Make a random change: still a graph, but perhaps of no model."""
    nodes, weights = model.graph.node, model.graph.initializer
    node, other = nodes[rng.integers(len(nodes))], nodes[rng.integers(len(nodes))]
    weight, another = weights[rng.integers(len(weights))], weights[rng.integers(len(weights))]

    def rename_input() -> None:
        if node.input:
            node.input[rng.integers(len(node.input))] = rng.choice([*other.output, *other.input, weight.name])

    def change_dims() -> None:
        weight.dims[:] = [int(np.prod(weight.dims))] if rng.integers(2) else list(reversed(weight.dims))

    def cut() -> None:
        if weight.dims:
            weight.raw_data = weight.raw_data[: len(weight.raw_data) // weight.dims[0]]
            weight.dims[0] = 1

    def change_number() -> None:
        if node.attribute:
            node.attribute[rng.integers(len(node.attribute))].i = int(rng.integers(-2, 9))

    def exchange_weights() -> None:
        weight.name, another.name = another.name, weight.name

    changes = (
        lambda: nodes.remove(node),
        lambda: weights.remove(weight),
        lambda: setattr(node, "op_type", other.op_type),
        *(rename_input, change_dims, cut, change_number, exchange_weights),
    )
    changes[rng.integers(len(changes))]()


def run_changed_graphs(path: Path, manifest: Manifest, kernels: str, rng: Rng) -> int:
    """Load changed graphs, and step through those that load; return how many did."""
    num_loaded = 0
    with tempfile.TemporaryDirectory() as name:
        for index in range(NUM_GRAPHS):
            folder = Path(name, str(index))
            shutil.copytree(path, folder)
            changed = folder / rng.choice([ENCODER_FILE, DECODER_FILE])
            model = onnx.load(str(changed))
            change_graph(model, rng)
            changed.write_bytes(model.SerializeToString())
            with suppress(NotSupported, IndexError):  # of ids outside a vocabulary that is smaller now
                exercise = Exercise(Bundle(folder, manifest), kernels, rng)
                num_loaded += 1
                exercise.step_at_random()
            shutil.rmtree(folder)
    return num_loaded


def main() -> None:
    folder, kernels, seed, *bundles = sys.argv[1:]
    library.FOLDER = Path(folder)
    rng = np.random.default_rng(int(seed))
    for name in bundles:
        bundle = read_bundle(Path(name))
        Exercise(bundle, kernels, rng).run()
        num_loaded = run_changed_graphs(bundle.path, bundle.manifest, kernels, rng)
        print(f"{name}: {num_loaded} of {NUM_GRAPHS} changed graphs were loaded")  # noqa: T201


if __name__ == "__main__":
    main()
