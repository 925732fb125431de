"""Check that all engines have the same weights: `python -m bench.equality FOLDER` compares greedy outputs.

If an engine's fp32 output differs from that of Dragoman's fp32 bundle, the conversion is wrong and timings
mean nothing. A few sentences may differ: engines add in different orders, and two tokens can be equally good.
"""

import sys

from bench.command import show
from bench.contenders import comparison, running, select_contenders, share_equal, translate_sources
from bench.models import TOKENIZER
from bench.workloads import read_lines, real_text

MIN_SHARE = 0.95


def main() -> int:
    """Compare the engines; return exit status 1 if one differs in too many sentences."""
    arguments = comparison("equality", __doc__, {}).parse()
    contenders = [one for one in select_contenders(arguments) if "fp32" in one.name]
    workload = real_text(read_lines(arguments.sentences), arguments.folder / TOKENIZER)
    with running(contenders, 1) as started:
        search = workload.search(1)
        outputs = {name: translate_sources(one, workload.sources, search) for name, one in started.items()}
    expected = outputs[contenders[0].name]
    shares = {name: share_equal(found, expected) for name, found in outputs.items()}
    show([{"sentences": len(expected), f"equal to those of {contenders[0].name}": shares}])
    return int(min(shares.values()) < MIN_SHARE)


if __name__ == "__main__":
    sys.exit(main())
