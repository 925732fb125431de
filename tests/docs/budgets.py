"""Count the lines of every folder and write them to budgets.toml: `python -m tests.docs.budgets`.

The goals stay, unless a number falls below its goal or the goals of a group exceed that of the group.
"""

import re
import subprocess
import tomllib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from pathlib import PurePath

from tests.paths import ROOT

FILE = ROOT / "tests" / "docs" / "budgets.toml"
KINDS = {".py": "python", ".toml": "tables", ".txt": "tables", ".tsv": "tables"} | dict.fromkeys(
    (".c", ".cpp", ".cu", ".h"), "native"
)
PRODUCT = ("dragoman", "export", "service", "training")
PACKAGES = ("bench", *PRODUCT)
FOLDERS = {"native": (*PACKAGES, "tests"), "python": (*PACKAGES, "requirements", "tests"), "tables": PACKAGES}
GOALS = (
    ("python", PRODUCT, 48_500),
    ("python", ("tests",), 39_500),
    ("python", ("bench",), 4_000),
    ("tables", ("dragoman", "service"), 1_150),
    ("files", ("all",), 1_400),
)
"""Kind, packages and goal of each group of folders."""
COMMENTS = ("#", "//")
UNCOUNTED = frozenset("()[]{},: ")
TEXTS = re.compile(r"""[rbfu]{0,2}("{3}|'{3}|"|')(?:\\.|[^\\])*?\1|#[^\n]*""", re.IGNORECASE | re.DOTALL)

Budgets = Mapping[str, Mapping[str, list[int]]]
"""Number and goal of each folder, by kind of file."""


def without_texts(source: str) -> str:
    """Return code without strings and comments, on the lines where it is."""
    return TEXTS.sub(lambda match: "\n" * match[0].count("\n"), source)


def code_lines(source: str) -> set[int]:
    """Return the lines that have more than brackets, comments and texts, much as pygount counts them."""
    lines = without_texts(source).split("\n")
    return {number for number, line in enumerate(lines, start=1) if not UNCOUNTED.issuperset(line)}


def count() -> Mapping[str, Counter[str]]:
    """Return the number of lines of each folder by kind, and of all files of the project."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for path in _project_files():
        counts["files"]["all"] += 1
        kind = KINDS.get(path.suffix)
        if kind is not None and path.parts[0] in FOLDERS[kind]:
            source = (ROOT / path).read_text(encoding="utf8")
            lines = code_lines(source) if kind == "python" else _lines_without_comments(source)
            counts[kind][_folder_of(path)] += len(lines)
    return counts


def _project_files() -> Iterator[PurePath]:
    """Yield what git tracks or would track; without git, all but caches."""
    names = git("ls-files", "--cached", "--others", "--exclude-standard").splitlines() or [
        str(path.relative_to(ROOT)) for path in ROOT.rglob("*") if "__pycache__" not in path.parts
    ]
    yield from sorted(PurePath(name) for name in names if (ROOT / name).is_file())


def git(*arguments: str) -> str:
    """Return what git prints; nothing if it fails, as outside of a repository."""
    command = ["git", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout


def _folder_of(path: PurePath) -> str:
    """Return the package of a file, or the folder of the service that it is in."""
    depth = 2 if path.parts[0] == "service" and len(path.parts) > 2 else 1
    return "/".join(path.parts[:depth])


def _lines_without_comments(source: str) -> list[str]:
    lines = (line.strip() for line in source.splitlines())
    return [line for line in lines if line and not line.startswith(COMMENTS)]


def parse(text: str) -> Budgets:
    """Return the budgets of a file, without its total."""
    return {kind: folders for kind, folders in tomllib.loads(text).items() if kind != "total"}


def total(text: str) -> int:
    """Return the most that all numbers of a file may be together."""
    return int(tomllib.loads(text)["total"])


def folders_of(group: Mapping[str, object], packages: tuple[str, ...]) -> list[str]:
    """Return the folders that are one of the packages or in one."""
    return [folder for folder in group if folder.partition("/")[0] in packages]


def render(counts: Mapping[str, Mapping[str, int]], before: Budgets) -> str:
    """Return a file with today's numbers and their sum, and the goals of the file before."""
    goals = {
        kind: {name: min(n, before.get(kind, {}).get(name, [n, n])[1]) for name, n in folders.items()}
        for kind, folders in counts.items()
    }
    for kind, packages, goal in GOALS:
        folders = folders_of(goals[kind], packages)
        together = sum(goals[kind][folder] for folder in folders)
        for folder in folders if together > goal else ():
            goals[kind][folder] = goals[kind][folder] * goal // together
    lines = [f"total = {sum(sum(folders.values()) for folders in counts.values())}"]
    for kind, numbers in sorted(counts.items()):
        lines += ["", f"[{kind}]"]
        lines += [f'"{name}" = [{number}, {goals[kind][name]}]' for name, number in sorted(numbers.items())]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    FILE.write_text(render(count(), parse(FILE.read_text(encoding="utf8"))), encoding="utf8")
