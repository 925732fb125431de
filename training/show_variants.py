"""`python -m training.show_variants RECIPE`: count and show the copies that a recipe makes of its corpora."""

import argparse
import itertools
import sys
from collections import defaultdict
from pathlib import Path

from training.config import Corpus, Direction, TrainingConfig, load_config
from training.corpus import TextPair
from training.exit_status import exit_status
from training.prepare import corpus_pairs, orient_pairs, read_terms
from training.start import data_seed
from training.variants.copies import copied


def main() -> int:
    """Show the copies and return the exit status: 2 if the recipe or its files must be fixed first."""
    arguments = _parser().parse_args()
    return exit_status(lambda: _show_all(load_config(arguments.config), arguments.pairs, arguments.examples))


def _show_all(config: TrainingConfig, num_pairs: int | None, num_examples: int) -> None:
    for corpus in config.data.corpora:
        for direction in config.data.directions:
            _show(corpus, direction, config, num_pairs, num_examples)


def _show(
    corpus: Corpus, direction: Direction, config: TrainingConfig, num_pairs: int | None, num_examples: int
) -> None:
    languages = (direction.source, direction.target)
    pairs = orient_pairs(itertools.islice(corpus_pairs(corpus, config), num_pairs), direction, config)
    dictionary = read_terms(config, direction)
    counts: defaultdict[str, int] = defaultdict(int)
    examples: defaultdict[str, list[str]] = defaultdict(list)
    total = 0
    for pair, copies in copied(pairs, corpus, data_seed(config), languages, dictionary):
        total += 1
        if len(examples["pairs"]) < num_examples:
            examples["pairs"].append(_line(pair))
        for name, copy in copies:
            counts[name] += 1
            if len(examples[name]) < num_examples:
                examples[name].append(_line(copy))
    all_copies = sum(counts.values())
    sys.stdout.write(
        f"{corpus.name}, {direction.name}: {total} pairs, {all_copies} copies ({all_copies / total:.1%})\n"
    )
    counts["pairs"] = total
    for name, found in examples.items():
        sys.stdout.write(f"  {name}: {counts[name]} ({counts[name] / total:.1%})\n")
        sys.stdout.writelines(found)


def _line(pair: TextPair) -> str:
    return f"    {pair.source}\t{pair.target}\n"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m training.show_variants",
        description="Count and show the variants that a recipe adds to its corpora.",
    )
    parser.add_argument("config", type=Path, help="recipe, a TOML file")
    parser.add_argument(
        "--pairs", type=int, default=None, help="number of pairs to read from each corpus; default: all"
    )
    parser.add_argument(
        "--examples",
        type=int,
        default=5,
        help="number of examples to show of each variant; default: %(default)s",
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
