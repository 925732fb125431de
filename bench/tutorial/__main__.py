"""Reproduce the tutorial's Transformer: `python -m bench.tutorial --train FILE --dev DE EN --test DE EN`.

Trains the runs that `--runs` names, such as `exact-1` (an arm of bench/tutorial/recipes.py and a seed), or
goes on with them after a stop, and scores each. Then it writes the result of all finished runs in the folder,
and of the models that `--bundle` names; `python -m bench.page` makes tables of docs/reports/experiments.md of
it. Two commands may train different runs in the same folder.
"""

from pathlib import Path

import torch

from bench.command import Command, Options, Words
from bench.provenance import RESULTS
from bench.tutorial.recipes import ARMS
from bench.tutorial.results import read_corpora, run_arm, score_bundle, write_result


def main() -> None:
    """Train, score, write the result."""
    options: Options = {
        "--runs to train, each an arm and a seed": [str],
        "--folder of the runs": Path("runs/tutorial"),
        "--train TSV files of pairs, perhaps .xz": [Path],
        "--dev text that chooses the epoch": Words(("SOURCE", "TARGET"), "required"),
        "--bundle a model of this project to score by the same metric": Words(("NAME", "FOLDER")),
        "--test text to score": Words(("SOURCE", "TARGET"), "required"),
    }
    command = Command("tutorial", __doc__, options)
    arguments = command.parse()
    torch.set_num_threads(1)
    texts = ([*map(Path, words)] for words in (arguments.dev, arguments.test))
    corpora = read_corpora(arguments.train, *texts)
    for name in arguments.runs:
        arm, _, seed = name.rpartition("-")
        if arm not in ARMS or not seed.isdecimal():
            command.parser.error(f"--runs {name}: not an arm and a seed; arms: {', '.join(ARMS)}")
        run_arm(arm, int(seed), corpora, arguments.folder / name)
    bundles = [row for name, path in arguments.bundle for row in score_bundle(name, Path(path), corpora.test)]
    write_result(arguments.folder, arguments.output or RESULTS / "tutorial.json", bundles, str(command))


if __name__ == "__main__":
    main()
