"""A model's weights as few tensors: matrices of one shape are slices of one stack."""

import itertools
from collections import defaultdict
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from export.model import TranslationModel

Shape = tuple[int, int]


class StackedWeights:
    """Float32 weights on a device, with gradients.

    Matrices are stacked by shape, [n, out, in], in the order of the model: queries, keys and values of an
    attention lie side by side. All vectors of the layers are in one tensor, [n]; tables stay as they are.
    """

    def __init__(self, model: TranslationModel, device: torch.device) -> None:
        matrices = {
            f"{name}.weight" for name, module in model.named_modules() if isinstance(module, nn.Linear)
        }
        by_shape: dict[Shape, dict[str, Tensor]] = defaultdict(dict)
        vectors: dict[str, Tensor] = {}
        self.tables: dict[str, Tensor] = {}
        """Embeddings and output bias."""
        for name, parameter in model.named_parameters():
            weight = parameter.detach().float().to(device)
            if name in matrices:
                by_shape[weight.shape[0], weight.shape[1]][name] = weight
            elif name.startswith(("encoder", "decoder")):
                vectors[name] = weight
            else:
                self.tables[name] = weight.clone().requires_grad_()
        self.stacks = {
            shape: torch.stack(list(group.values())).requires_grad_() for shape, group in by_shape.items()
        }
        self.vectors = torch.cat([weight.reshape(-1) for weight in vectors.values()]).requires_grad_()
        self._matrix_places = {
            name: (shape, number) for shape, group in by_shape.items() for number, name in enumerate(group)
        }
        ends = list(itertools.accumulate(weight.numel() for weight in vectors.values()))
        self._vector_indices = {
            name: slice(end - weight.numel(), end)
            for (name, weight), end in zip(vectors.items(), ends, strict=True)
        }
        self._matrix_groups = {shape: _group(list(group)) for shape, group in by_shape.items()}
        self._vector_groups = _group(list(vectors))

    def tensors(self) -> list[Tensor]:
        """Return every tensor that is trained, each once."""
        return [*self.stacks.values(), self.vectors, *self.tables.values()]

    def cast(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """Return the layers' weights in the precision of a step, by name.

        Matrices and biases of layers that read the same input are one, under the name of the first: queries,
        keys and values of a self-attention, keys and values of a cross-attention. Each stack is split once:
        the gradient of many single slices would be as many sums over the whole stack.
        """
        parts: dict[str, Tensor] = {}
        for (_, width), stack, groups in zip(
            self.stacks, self.stacks.values(), self._matrix_groups.values(), strict=True
        ):
            split = torch.split(stack.to(dtype), [len(group) for group in groups])
            parts |= {group[0]: part.reshape(-1, width) for group, part in zip(groups, split, strict=True)}
        sizes = [
            self._vector_indices[group[-1]].stop - self._vector_indices[group[0]].start
            for group in self._vector_groups
        ]
        split = torch.split(self.vectors.to(dtype), sizes)
        return parts | {group[0]: part for group, part in zip(self._vector_groups, split, strict=True)}

    def named(self) -> Iterator[tuple[str, Tensor]]:
        """Yield every weight by its name in the model, as a view."""
        for name, (shape, number) in self._matrix_places.items():
            yield name, self.stacks[shape].detach()[number]
        for name, index in self._vector_indices.items():
            yield name, self.vectors.detach()[index]
        for name, table in self.tables.items():
            yield name, table.detach()


def _group(names: list[str]) -> list[list[str]]:
    """Group neighbours that are projections of the same input."""
    groups: list[list[str]] = []
    for name in names:
        module, _, kind = name.rpartition(".")
        attention, _, projection = module.rpartition(".")
        first = "query" if attention.endswith("self_attention") else "key"
        is_joined = projection in {"query", "key", "value"} and projection != first
        if is_joined and groups and groups[-1][0] == f"{attention}.{first}.{kind}":
            groups[-1].append(name)
        else:
            groups.append([name])
    return groups
