"""Check that all engines have the same weights: `python -m bench.equality FOLDER` compares greedy outputs.

If an engine's fp32 output differs from that of Dragoman's fp32 bundle, the conversion is wrong and timings
mean nothing. A few sentences may differ: engines add in different orders, and two tokens can be equally good.
"""

import sys

from bench.contenders import parser_of, running, select_contenders
from bench.models import TOKENIZER
from bench.outputs import share_equal, translate_sources
from bench.workloads import read_lines, real_text

MIN_SHARE = 0.95


def main() -> int:
    """Compare the engines; return exit status 1 if one differs in too many sentences."""
    arguments = parser_of(__doc__, "equality").parse_args()
    contenders = [one for one in select_contenders(arguments) if "fp32" in one.name]
    workload = real_text(read_lines(arguments.sentences), arguments.folder / TOKENIZER)
    with running(contenders, 1) as started:
        outputs = {
            name: translate_sources(worker, workload.sources, workload.search(1))
            for name, worker in started.items()
        }
    expected = outputs[contenders[0].name]
    shares = {name: share_equal(found, expected) for name, found in outputs.items()}
    for name, share in shares.items():
        print(f"{name}: {share:.1%} of {len(expected)} sentences as {contenders[0].name}")
    return 0 if min(shares.values()) >= MIN_SHARE else 1


if __name__ == "__main__":
    sys.exit(main())
