"""`python -m bench.experiments`: train and measure the runs of a plan, and write their page."""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm

from bench.experiments.commands import ExperimentError, ExperimentStopped, StopRequest
from bench.experiments.page import PagePaths, write_page
from bench.experiments.plan import PLANS, SHAPES, Plan, Run, smoke_plan
from bench.experiments.recipe import Texts, cut
from bench.experiments.results import Results
from bench.experiments.running import JobDirectory, execute_run
from bench.experiments.timing import ROUNDS, SENTENCES, Timing, time_bundles
from bench.provenance import provenance
from bench.workloads import read_lines
from dragoman.cpus import available_cpus

EPILOG = """\
The same command after Ctrl-C, SIGTERM or a kill goes on where it was: in the middle of a training, too.
Results and page are written after every run, all arms with the first seed before any with the second. What a
run prints goes to FOLDER/RUN/log.

exit status: 0 everything is measured; 2 something must be mended first, the message says what; 130 or 143
stopped by Ctrl-C or SIGTERM, to be gone on with.

docs/reports/experiments.md tells what is compared and where the text comes from.
"""
SIGNALLED = 128
"""Added to the signal's number, as shells do."""
FIXABLE_ERROR = 2
TIMED = "int8"

Measured = dict[str, Any]
TimeBundles = Callable[[dict[str, Path], Sequence[str], int, StopRequest], list[Timing]]


def make_missing_runs(
    results: Results, paths: PagePaths, at_once: int, stop: StopRequest, time_all: TimeBundles
) -> None:
    """Make every run of the plan that is not yet in the results; time the arms after the first pass.

    Args:
        results: earlier results, to which new ones are added.
        paths: paths of the result file and the page, which are written after each run.
        at_once: number of concurrent runs.
        stop: stop request, checked continually.
        time_all: function that times the arms while nothing else runs.

    Raises:
        Stopped: a signal arrived.
        ExperimentError: something must be fixed first.
    """
    plan = results.plan
    num_done = sum(results.has(run) for run in plan.runs())

    def keep(measured: Measured) -> None:
        results.add(measured)
        _publish(results, paths)
        bar.update()

    with tqdm(total=len(plan.runs()), initial=num_done, desc="experiments", unit="run") as bar:
        for one_pass in plan.passes():
            missing = [run for run in one_pass if not results.has(run)]
            _make_runs_concurrently(missing, results.place, at_once, stop, keep)
            if results.timing is None:
                _time(results, one_pass, stop, time_all)
                _publish(results, paths)


def _make_runs_concurrently(
    runs: Sequence[Run],
    directory: JobDirectory,
    at_once: int,
    stop: StopRequest,
    keep: Callable[[Measured], None],
) -> None:
    """Make runs concurrently and keep the results of each as it ends; if one fails, stop the others."""

    def one(run: Run) -> Measured:
        stop.check()
        tqdm.write(f"{run.name}: {run.arm.label}, seed {run.seed}", file=sys.stderr)
        try:
            return execute_run(run, directory, stop)
        except BaseException:
            stop.give_up()
            raise

    with ThreadPoolExecutor(at_once) as workers:
        futures = [workers.submit(one, run) for run in runs]
        try:
            for future in as_completed(futures):
                keep(future.result())
        except BaseException:
            stop.give_up()
            raise


def _time(results: Results, runs: Sequence[Run], stop: StopRequest, time_all: TimeBundles) -> None:
    bundles = {run.arm.name: results.place.run_dir(run) / TIMED for run in runs}
    if gone := [str(path) for path in bundles.values() if not path.is_dir()]:
        raise ExperimentError(
            f"{', '.join(gone)} is not there to be timed; remove the run from {results.path} to make it anew"
        )
    lines = read_lines(results.place.texts.test[0], SENTENCES)
    results.set_timing(time_all(bundles, lines, ROUNDS, stop), len(lines), ROUNDS)


def _publish(results: Results, paths: PagePaths) -> None:
    """Write the result file and the page."""
    newest = results.place.folder / results.runs[-1]["run"] / TIMED
    names = results.place.texts.names()
    files = " ".join(f"--{name} {files}" for name, files in names.items())
    command = f"python -m bench.experiments --plan {results.plan.name} {files}"
    results.write(provenance(newest, command))
    write_page(paths)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.experiments",
        description=__doc__,
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--plan", choices=PLANS, default=SHAPES.name, help="what is compared; default: %(default)s"
    )
    parser.add_argument(
        "--train",
        type=Path,
        required=True,
        help="German, tab, English; with a tag before, or not; .xz or not",
    )
    for name in ("dev", "test"):
        parser.add_argument(
            f"--{name}",
            type=Path,
            nargs=2,
            required=True,
            metavar=("GERMAN", "ENGLISH"),
            help="a sentence a line; 200 or more" if name == "dev" else "a sentence a line",
        )
    parser.add_argument("--folder", type=Path, help="where models are kept; default: runs/experiments-PLAN")
    parser.add_argument(
        "--at-once",
        type=_one_or_more,
        default=available_cpus(),
        metavar="N",
        help="runs side by side, one thread each; default: the processors there are, here %(default)s",
    )
    parser.add_argument("--nice", type=int, default=19, help="of everything but the timing; default: 19")
    parser.add_argument(
        "--rehearse",
        action="store_true",
        help="two arms, 200 pairs, 3 steps, results and page into the folder: does it work?",
    )
    return parser


def _one_or_more(text: str) -> int:
    if (number := int(text)) < 1:
        raise argparse.ArgumentTypeError(f"{number} is less than 1")
    return number


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Concurrency and niceness of the runs, which change no result except the hours."""

    at_once: int
    niceness: int


def run_plan(plan: Plan, texts: Texts, folder: Path, options: RunOptions, paths: PagePaths) -> None:
    """Make all missing runs of a plan, until the end or a signal.

    Raises:
        Stopped: a signal arrived.
        ExperimentError: something must be fixed first.
    """
    wanted = (texts.train, *texts.dev, *texts.test)
    if missing := [str(path) for path in wanted if not path.is_file()]:
        raise ExperimentError(f"no such file: {', '.join(missing)}")
    stop = StopRequest()
    with stop.listening():
        used = cut(texts, plan, folder)
        results = Results(
            paths.results(plan.name), plan, JobDirectory(folder, used, used.hashes(), options.niceness)
        )
        make_missing_runs(results, paths, options.at_once, stop, time_bundles)


def main() -> int:
    """Run the plan and return the exit status that the epilog describes."""
    arguments = _parser().parse_args()
    plan = PLANS[arguments.plan]
    folder: Path = arguments.folder or Path(f"runs/experiments-{plan.name}")
    texts = Texts(arguments.train, tuple(arguments.dev), tuple(arguments.test), plan.licence)
    plan = smoke_plan(plan) if arguments.rehearse else plan
    paths = PagePaths.inside(folder) if arguments.rehearse else PagePaths.of_project()
    began_s = time.monotonic()
    try:
        run_plan(plan, texts, folder, RunOptions(arguments.at_once, arguments.nice), paths)
    except ExperimentError as error:
        sys.stderr.write(f"error: {error}\n")
        return FIXABLE_ERROR
    except ExperimentStopped as stopped:
        sys.stderr.write(f"{stopped}\n")
        return SIGNALLED + stopped.signal_number
    write_page(paths)
    sys.stderr.write(f"{paths.page}, after {(time.monotonic() - began_s) / 3600:.1f} h\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
