"""Which attention aligns best: alignment error rates of every layer, head and step against reference links.

`python -m bench.alignment CHECKPOINT --bundle BUNDLE... --output bench/results/alignment.json`

Error rate and sure and possible links are defined by Och and Ney 2003, "A Systematic Comparison of Various
Statistical Alignment Models", Computational Linguistics 29(1), section 6. The engine's own code splits and
links the words; only the attention varies.
Shapes: L decoder layers, H heads, T predicted tokens including the end of sentence, S source tokens.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from bench.command import Command, Options, show
from dragoman.bundle import open_bundle
from dragoman.graphs.decoder import Decoder
from dragoman.graphs.encoder import Encoder
from dragoman.manifest import AlignmentHeads
from dragoman.pipeline.word_alignment import link_words
from dragoman.providers import SessionOptions
from dragoman.text.tokenizer import Tokenizer
from dragoman.text.words import group_into_words
from dragoman.types import Link, Method, SearchKind, Span
from export.checkpoint import load_checkpoint
from export.model import Transformer
from export.model.attention import Attention

GOLD = Path(__file__).parent / "gold" / "de-en.tsv"
WORD = re.compile(r"\w+(?:[\u2019'\-.,:]\w+)*|[^\w\s]")
"""Matches a gold word: letters and digits with joining punctuation, or one other character."""
LINK = re.compile(r"(\d+)([-?])(\d+)")
MEANS_OF_BEST = (2, 3, 4)
"""Numbers of a layer's heads to average, those that align best alone first."""
STEPS = {False: "saying", True: "reading"}
"""Names of the step that predicts a token, and of the one that reads it."""

Weights = NDArray[np.float32]
Place = tuple[int, int]
"""Indexes of a source word and a target word."""
ReadAttention = Callable[["Tokens"], Weights]
"""Function that returns the attention of a pair's target pieces, [target pieces, source pieces]."""


@dataclass(frozen=True, slots=True)
class GoldPair:
    """A source and a target with their reference links."""

    source: str
    target: str
    sure: frozenset[Place]
    possible: frozenset[Place]
    """All links, including the sure ones."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """A pair as ids of pieces, without special tokens."""

    source: tuple[int, ...]
    target: tuple[int, ...]


Rate = dict[str, Any]
"""Name of a method and its alignment error rates, 0 to 1, of all pairs and of each half."""


def read_gold(path: Path) -> list[GoldPair]:
    """Read tab-separated lines of source, target and links; 3-4 is sure, 3?4 possible, counted from 0.

    Raises:
        ValueError: a line has other columns, or a link is malformed, repeated or not between two words.
    """
    pairs = []
    for number, line in enumerate(path.read_text(encoding="utf8").splitlines(), start=1):
        source, target, listed = line.split("\t")
        sizes = (len(gold_words(source)), len(gold_words(target)))
        sure, possible = set(), set()
        for link in listed.split():
            match = LINK.fullmatch(link)
            place = (int(match[1]), int(match[3])) if match else (-1, -1)
            if match is None or place in possible or place[0] >= sizes[0] or place[1] >= sizes[1]:
                raise ValueError(f"{path}:{number}: {link} is no link of {sizes[0]} to {sizes[1]} words")
            possible.add(place)
            if match[2] == "-":
                sure.add(place)
        pairs.append(GoldPair(source, target, frozenset(sure), frozenset(possible)))
    return pairs


def reverse_pair(pair: GoldPair) -> GoldPair:
    """Return the pair with its links for a model that translates in the other direction."""
    links = (frozenset((target, source) for source, target in one) for one in (pair.sure, pair.possible))
    return GoldPair(pair.target, pair.source, *links)


def gold_words(text: str) -> list[Span]:
    """Split a text into words at white space, with punctuation split off."""
    return [Span(*match.span()) for match in WORD.finditer(text)]


def alignment_error_rate(found: Iterable[set[Place]], gold: Iterable[GoldPair]) -> float:
    """Return AER = 1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|), over all pairs together."""
    agreed = total = 0
    for links, pair in zip(found, gold, strict=True):
        agreed += len(links & pair.sure) + len(links & pair.possible)
        total += len(links) + len(pair.sure)
    return 1.0 - agreed / total


def to_gold_links(links: Iterable[Link], source: Sequence[Span], target: Sequence[Span]) -> set[Place]:
    """Convert links between the engine's words to links between gold words; drop those that touch none."""
    return {
        (from_word, to_word)
        for link in links
        for from_word in _overlapping_words(link.source, source)
        for to_word in _overlapping_words(link.target, target)
    }


def _overlapping_words(part: Span, words: Sequence[Span]) -> list[int]:
    return [number for number, word in enumerate(words) if word.start < part.end and part.start < word.end]


def align(tokenizer: Tokenizer, pair: GoldPair, read: ReadAttention) -> set[Place]:
    """Link a pair's words as the engine does, by the attention from `read`."""
    tokens = tokens_of(tokenizer, pair)
    source_words = group_into_words(pair.source, tokenizer.source_spans(pair.source))
    target_words = group_into_words(pair.target, tokenizer.target_spans(tokens.target))
    links = link_words(read(tokens), source_words, target_words)
    return to_gold_links(links, gold_words(pair.source), gold_words(pair.target))


def tokens_of(tokenizer: Tokenizer, pair: GoldPair) -> Tokens:
    source, target = tokenizer.encode([pair.source, pair.target])
    return Tokens(tuple(source), tuple(target))


def measure(name: str, tokenizer: Tokenizer, gold: Sequence[GoldPair], read: ReadAttention) -> Rate:
    """Return the rates of all pairs and of each half; the halves show which differences are significant."""
    found = [align(tokenizer, pair, read) for pair in gold]
    half = len(gold) // 2
    parts = {"": slice(None), "_first_half": slice(half), "_second_half": slice(half, None)}
    rates = {part: alignment_error_rate(found[which], gold[which]) for part, which in parts.items()}
    return {"name": name, **{f"error_rate{part}": round(rate, 4) for part, rate in rates.items()}}


@torch.inference_mode()
def attentions(model: Transformer, tokens: Tokens) -> Weights:
    """Return the model's cross-attention during forced decoding of a target, [L, H, T, S]."""
    seen: list[Weights] = []

    def watch(attention: Attention, inputs: tuple[torch.Tensor, ...], _: object) -> None:
        states, keys, _values, bias = inputs
        queries = attention.query(states).unflatten(2, (attention.heads, -1)).transpose(1, 2)
        scores = queries @ keys.transpose(2, 3) * attention.head_size**-0.5 + bias
        seen.append(scores.softmax(dim=-1)[0].numpy())

    hooks = [layer.cross_attention.register_forward_hook(watch) for layer in model.decoder_layers()]
    source = torch.tensor([[*tokens.source, model.config.eos_id]])
    model(
        source,
        torch.ones_like(source, dtype=torch.bool),
        torch.tensor([[model.config.bos_id, *tokens.target]]),
    )
    for hook in hooks:
        hook.remove()
    return np.stack(seen)


def select_pieces(attention: Weights, tokens: Tokens, *, reads_token: bool) -> Weights:
    """Select the attention from target pieces to source pieces, out of attention [T, S].

    With `reads_token` a piece's attention is that of the step that reads it, else of the predicting step.
    """
    first = int(reads_token)
    return attention[first : first + len(tokens.target), : len(tokens.source)]


def rates_of_model(model: Transformer, tokenizer: Tokenizer, gold: Sequence[GoldPair]) -> list[Rate]:
    """Return the rates of each head, of the means of each layer's best or all heads, and of all layers."""
    kept = {tokens_of(tokenizer, pair): attentions(model, tokens_of(tokenizer, pair)) for pair in gold}
    heads = range(model.config.heads)

    def measure_heads(layer: int, chosen: Iterable[int], *, reads_token: bool) -> Rate:
        alignment = AlignmentHeads(layer, tuple(sorted(chosen)), reads_token)

        def read(tokens: Tokens) -> Weights:
            mean = kept[tokens][layer, list(alignment.heads)].mean(axis=0)
            return select_pieces(mean, tokens, reads_token=reads_token)

        return measure(_format_heads(alignment), tokenizer, gold, read)

    rates = []
    for reads_token in (False, True):

        def read_all(tokens: Tokens, reads_token: bool = reads_token) -> Weights:  # noqa: FBT001
            return select_pieces(kept[tokens].mean(axis=(0, 1)), tokens, reads_token=reads_token)

        rates.append(measure(f"all layers, {STEPS[reads_token]}", tokenizer, gold, read_all))
        for layer in range(model.config.decoder_layers):
            single = [measure_heads(layer, [head], reads_token=reads_token) for head in heads]
            best = sorted(heads, key=lambda head: float(single[head]["error_rate"]))
            counts = (*MEANS_OF_BEST, len(heads))
            together = [measure_heads(layer, best[:count], reads_token=reads_token) for count in counts]
            rates += [*single, *together]
    return rates


def rate_of_bundle(folder: Path, tokenizer: Tokenizer, gold: Sequence[GoldPair]) -> Rate:
    """Return the rate of the heads that a bundle's manifest names, with the engine's own graphs."""
    bundle = open_bundle(folder)
    alignment, begin = bundle.manifest.alignment, next(iter(bundle.manifest.languages.targets.values())).begin
    encoder, decoder = Encoder(bundle, SessionOptions()), Decoder(bundle, SessionOptions())

    def read(tokens: Tokens) -> Weights:
        steps = decoder.open_steps(SearchKind(1, method=Method.ALIGN))
        steps.join(encoder.run([[*tokens.source, bundle.manifest.special_ids.eos]]))
        rows = [steps.read(np.array([token]), None)[1][0].copy() for token in (*begin, *tokens.target)]
        return select_pieces(np.stack(rows)[len(begin) - 1 :], tokens, reads_token=alignment.reads_token)

    name = f"{folder.name} {bundle.manifest.precision}, {_format_heads(alignment)}"
    return measure(name, tokenizer, gold, read)


def _format_heads(alignment: AlignmentHeads) -> str:
    heads = ", ".join(map(str, alignment.heads))
    return f"layer {alignment.layer} heads {heads}, {STEPS[alignment.reads_token]}"


def main() -> None:
    options: Options = {
        "checkpoint of `python -m training`": Path,
        "--gold links made by hand": GOLD,
        "--bundle one or more, whose own heads are measured": [Path],
        "--reverse if the model translates the gold's targets into its sources": False,
    }
    command = Command("alignment", __doc__, options)
    arguments = command.parse()
    torch.set_num_threads(1)
    gold = read_gold(arguments.gold)
    if arguments.reverse:
        gold = [reverse_pair(pair) for pair in gold]
    checkpoint = load_checkpoint(arguments.checkpoint)
    if not isinstance(checkpoint.model, Transformer):
        raise SystemExit(f"{arguments.checkpoint}: only a Transformer has heads to choose from")
    tokenizer = Tokenizer.load(checkpoint.source_tokenizer)
    groups = {
        "model": rates_of_model(checkpoint.model, tokenizer, gold),
        "bundles": [rate_of_bundle(bundle, tokenizer, gold) for bundle in arguments.bundle],
    }
    for name, rates in groups.items():
        show({"group": name, **one} for one in sorted(rates, key=lambda one: one["error_rate"]))
    counts = {
        "file": arguments.gold.name,
        "pairs": len(gold),
        "sure": sum(len(pair.sure) for pair in gold),
        "possible": sum(len(pair.possible - pair.sure) for pair in gold),
    }
    command.write(arguments.bundle[0], {"gold": counts, **groups})


if __name__ == "__main__":
    main()
