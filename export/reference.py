"""A model's graphs in float32, run from memory: bundles are calibrated on them and compared with them.

They multiply with the weights where these are, in a mapped file if possible, so that a model is not in memory
twice. Shapes: B sources, S source tokens, R rows (R = B x beams), T target positions, V target vocabulary,
K inputs of a layer.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray
from onnx import TensorProto, helper
from onnxruntime import OrtValue

from dragoman import contract
from dragoman.graphs.batch_shortlist import inputs_without_shortlist
from dragoman.graphs.session import DISABLED_OPTIMISERS, FATAL_ONLY
from export.graph.builder import CONTRIB, GraphBuilder
from export.graph.decoder import write_decoder
from export.graph.encoder import write_encoder
from export.graph.exported_graph import ExportedGraph
from export.graph.precision.float32 import Float32
from export.graph.precision.protocol import OUTPUT, LinearLayer, OutputProjection, join_layers
from export.model_weights import Floats, ModelWeights

IN_PLACE_BYTES = 1024
"""Size from which a weight is not copied into its graph."""

Ids = Sequence[int]
InputReader = Callable[[str, Floats], None]
"""Reads the inputs of a layer: its name, and vectors [..., K]."""


class _InPlaceFloat32(Float32):
    """float32 with products that read weights as they are stored; remembers the input of each product."""

    def __init__(self) -> None:
        self.inputs: dict[str, str] = {}

    def linear(self, graph: GraphBuilder, value: str, layers: Sequence[LinearLayer]) -> str:
        name, weight, bias = join_layers(layers)
        if graph.outermost is graph:  # values inside a loop cannot be read
            self.inputs[name] = value
        stored = graph.weight(f"{name}.weight", weight)
        product = graph.op("FusedMatMul", value, stored, domain=CONTRIB, transB=1)
        return graph.op("Add", product, graph.weight(f"{name}.bias", bias))

    def cached_linear(self, graph: GraphBuilder, value: str, layers: Sequence[LinearLayer]) -> str:
        products = [self.linear(graph, value, [layer]) for layer in layers]  # calibrated under each name
        return graph.op("Concat", *products, axis=-1)

    def output(self, graph: GraphBuilder, value: str, output: OutputProjection, tokens: range) -> str:
        self.inputs[OUTPUT] = value
        part = slice(tokens.start, tokens.stop)
        table = graph.weight(f"{output.name}.{tokens.start}", output.table[part])
        bias = graph.weight(f"{OUTPUT}.{tokens.start}.bias", output.bias[part])
        return graph.op("Gemm", value, table, bias, transB=1)


@dataclass(slots=True)
class DecoderRows:
    """Rows of a running decoder."""

    state: dict[str, NDArray[np.float32]]
    """State by its names in `dragoman.contract`: each step changes it in place."""
    source: dict[str, NDArray[Any]]
    """Cross K/V and the mask of tokens."""
    num_read: int = 0
    """Positions read."""


class ReferenceGraphs:
    """A model in float32. Its sources are read together, its targets step by step."""

    def __init__(self, model: ModelWeights, *, reads_inputs: bool = False) -> None:
        """Open the graphs.

        Args:
            model: the model.
            reads_inputs: whether inputs of layers can be read, which makes steps slower.
        """
        self.config = config = model.config
        # Every weight once, even if both graphs have it; those in half precision become float32 here.
        model = model.with_weights({name: model.weights[name] for name in model.weights})
        encoder, decoder = _InPlaceFloat32(), _InPlaceFloat32()
        graphs = write_encoder(model, encoder), write_decoder(model, decoder, 0)
        self._encoder_inputs = encoder.inputs if reads_inputs else {}
        self._decoder_inputs = decoder.inputs if reads_inputs else {}
        self._encoder = _Graph(graphs[0], self._encoder_inputs.values())
        self._decoder = _Graph(graphs[1], self._decoder_inputs.values())
        self._state_names = contract.state_names(config.decoder_layers, config.autoregression)

    @property
    def layers(self) -> list[str]:
        """Names of all linear layers, and `OUTPUT`; layers that are one product have the first one's name."""
        return [*self._encoder_inputs, *self._decoder_inputs]

    def greedy(
        self, sources: Sequence[Ids], begin: Ids, limits: Sequence[int]
    ) -> tuple[list[list[int]], DecoderRows]:
        """Translate sources greedily.

        Args:
            sources: B lists of ids, each ending in the end-of-sentence id.
            begin: ids that begin each target: the first starts the decoder, the others are forced.
            limits: maximum number of tokens of each target, forced ones and the end included.

        Returns:
            B lists of ids, without `begin` and the end; and the rows after they have read all of them.
        """
        rows = self.start(sources, 1, max(limits) + 1)
        for token in begin[:-1]:
            self.step(rows, np.full(len(sources), token), 1)
        last = np.full(len(sources), begin[-1])
        rooms = np.array(limits) - len(begin) + 1
        targets: list[list[int]] = [[] for _ in sources]
        is_open = np.ones(len(sources), bool)
        for num_tokens in range(rooms.max()):
            last = self.step(rows, last, 1)[1][:, 0]
            is_open &= (last != self.config.eos_id) & (num_tokens < rooms)
            if not is_open.any():
                break
            for row in np.flatnonzero(is_open):
                targets[row].append(int(last[row]))
        else:
            self.step(rows, last, 1)
        return targets, rows

    def logprobs(self, sources: Sequence[Ids], targets: NDArray[np.int64]) -> Iterator[Floats]:
        """Yield the log-probabilities [R, V] after each token of given targets [R, T]."""
        num_rows, num_steps = targets.shape
        rows = self.start(sources, num_rows // len(sources), num_steps)
        for step in range(num_steps):
            logprobs, ids = self.step(rows, targets[:, step], self.config.target_vocab_size)
            found = np.empty_like(logprobs)
            np.put_along_axis(found, ids, logprobs, axis=1)
            yield found

    def read_inputs(self, sources: Sequence[Ids], targets: Sequence[Ids], read: InputReader) -> None:
        """Run sources and given targets; pass the inputs of each layer to `read`, without padding."""
        rows = self.start(sources, 1, max(map(len, targets)), read)
        ends = np.array([len(target) for target in targets])
        for step in range(ends.max()):
            is_token = step < ends
            last = np.array([target[min(step, len(target) - 1)] for target in targets])

            def read_tokens(name: str, values: Floats, is_token: NDArray[np.bool_] = is_token) -> None:
                read(name, values[is_token])

            self.step(rows, last, 1, read_tokens)

    def start(
        self, sources: Sequence[Ids], beams: int, capacity: int, read: InputReader | None = None
    ) -> DecoderRows:
        """Encode sources; return `beams` rows for each, with space for `capacity` positions."""
        config = self.config
        lengths = np.array([len(source) for source in sources], np.int32)
        width = contract.padded_width(int(lengths.max()))
        ids = np.full((len(sources), width), config.pad_id, np.int64)
        for row, source in enumerate(sources):
            ids[row, : len(source)] = source
        is_token = np.arange(width) < lengths[:, None]
        names = self._encoder_inputs if read is not None else {}
        inputs: dict[str, NDArray[Any]] = {"source_ids": ids, "source_lengths": lengths}
        found = self._encoder.run(inputs, ["cross", *dict.fromkeys(names.values())], {})
        if read is not None:
            for name, value in names.items():
                read(name, found[value][is_token])
        num_rows = len(sources) * beams
        shape: tuple[int, ...] = (num_rows, config.d_model)
        if config.autoregression == "attention":
            shape = (num_rows, config.heads, capacity, config.head_size)
        return DecoderRows(
            state={name: np.zeros(shape, np.float32) for name in self._state_names},
            source={
                **dict(zip(contract.cross_names(config.decoder_layers), found["cross"], strict=True)),
                "source_mask": is_token.astype(np.int32),
            },
        )

    def step(
        self, rows: DecoderRows, last_ids: NDArray[np.int64], num_best: int, read: InputReader | None = None
    ) -> tuple[Floats, NDArray[np.int64]]:
        """Extend every row by a token; return the log-probabilities of the best next ones, and their ids."""
        inputs: dict[str, NDArray[Any]] = {
            "last_ids": last_ids.astype(np.int64),
            "lengths": np.full(len(last_ids), rows.num_read, np.int32),
            "total_length": np.array(rows.num_read + 1, np.int32),
            "num_best": np.array(num_best, np.int64),
            **rows.source,
            **inputs_without_shortlist(len(last_ids), 0, self.config.d_model),
        }
        names = self._decoder_inputs if read is not None else {}
        outputs = ["best_logprobs", "best_ids", *dict.fromkeys(names.values())]
        found = self._decoder.run(inputs, outputs, rows.state)
        rows.num_read += 1
        if read is not None:
            for name, value in names.items():
                read(name, found[value].reshape(len(last_ids), -1))
        return found["best_logprobs"], found["best_ids"]


class _Graph:
    """A graph whose weights are inputs: as constants, onnxruntime would copy them."""

    def __init__(self, graph: ExportedGraph, more_outputs: Iterable[str]) -> None:
        """Open a graph with more of its values as outputs."""
        model, weights = graph.with_weights_as_inputs(IN_PLACE_BYTES)
        model.graph.output.extend(
            helper.make_tensor_value_info(value, TensorProto.FLOAT, None)
            for value in dict.fromkeys(more_outputs)
        )
        settings = onnxruntime.SessionOptions()
        settings.inter_op_num_threads = 1
        # Waiting for the next of many short steps would take as much CPU time as the steps.
        settings.add_session_config_entry("session.intra_op.allow_spinning", "0")
        settings.enable_cpu_mem_arena = False  # an arena grows in powers of two, and never shrinks
        settings.log_severity_level = FATAL_ONLY
        self._session = onnxruntime.InferenceSession(
            model.SerializeToString(),
            settings,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=DISABLED_OPTIMISERS,
        )
        self._weights = {name: OrtValue.ortvalue_from_numpy(weight) for name, weight in weights.items()}

    def run(
        self,
        inputs: Mapping[str, NDArray[Any]],
        outputs: Sequence[str],
        state: Mapping[str, NDArray[np.float32]],
    ) -> dict[str, NDArray[Any]]:
        """Return the requested outputs by name; the arrays of `state` are changed in place."""
        binding = self._session.io_binding()
        for name in outputs:
            binding.bind_output(name)
        for name, weight in self._weights.items():
            binding.bind_ortvalue_input(name, weight)
        for name, array in inputs.items():
            binding.bind_cpu_input(name, array)
        for name, array in state.items():
            value = OrtValue.ortvalue_from_numpy(array)  # the array's own memory
            binding.bind_ortvalue_input(name, value)
            binding.bind_ortvalue_output(contract.NEW_PREFIX + name, value)
        self._session.run_with_iobinding(binding)
        arrays = (value.numpy() for value in binding.get_outputs()[: len(outputs)])
        return dict(zip(outputs, arrays, strict=True))
