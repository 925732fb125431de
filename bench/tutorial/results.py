"""Runs of the tutorial's arms: their texts, their scores, the result file."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import sacrebleu
from tqdm import tqdm

from bench.experiments import BEAM, GREEDY, scores_of_arm
from bench.provenance import RESULTS, provenance, read_result, write_json
from bench.quality import translate_all
from bench.tutorial.data import SPECIALS, UNK, Pieces, word_splitter
from bench.tutorial.recipes import ARMS, MAX_OUTPUT, PUBLISHED
from bench.tutorial.train import (
    CHOICES,
    HISTORY_FILE,
    Choice,
    Data,
    Run,
    Texts,
    chosen_epoch,
    corpus_bleu,
    train,
    translate_ids,
)
from dragoman import DecodingOptions, Translator
from export.shortlist.text import read_pairs

SCORES_FILE = "scores.json"
SEARCHES = {
    "greedy": DecodingOptions(beam_size=GREEDY),
    f"greedy, at most {MAX_OUTPUT} tokens": DecodingOptions(beam_size=GREEDY, max_length=MAX_OUTPUT),
    "beam 4": DecodingOptions(beam_size=BEAM),
}
PACKAGES = ("torch", "spacy", "sacrebleu")


@dataclass(frozen=True, slots=True)
class Corpora:
    """Texts to train on, to choose the epoch by, and to score."""

    train: Texts
    dev: Texts
    test: Texts


def read_corpora(train_files: Sequence[Path], dev: Sequence[Path], test: Sequence[Path]) -> Corpora:
    """Read TSV files of pairs, whose last two columns are source and target, and files of lines.

    Raises:
        ExportError: a line of a TSV file has not two or three columns.
        SystemExit: there are no pairs, or files of lines differ in their number of lines.
    """
    pairs = read_pairs(train_files)
    if not pairs:
        raise SystemExit("--train: no pairs")
    lines = [[path.read_text(encoding="utf8").splitlines() for path in files] for files in (dev, test)]
    for files, (source, target) in zip((dev, test), lines, strict=True):
        if len(source) != len(target) or not source:
            raise SystemExit(f"{files[0]} has {len(source)} lines, {files[1]} has {len(target)}")
    train = Texts([source for source, _ in pairs], [target for _, target in pairs])
    return Corpora(train, *(Texts(source, target) for source, target in lines))


def run_arm(arm: str, seed: int, corpora: Corpora, folder: Path) -> None:
    """Train a run, or go on with it, and write its scores; a finished run is left as it is."""
    if (folder / SCORES_FILE).is_file():
        return
    folder.mkdir(parents=True, exist_ok=True)
    _, recipe = ARMS[arm]
    data = Data.build(recipe, corpora.train, corpora.dev)
    run = Run.begin(recipe, seed, data, folder)
    split = word_splitter("en")
    dev_words = [split(text) for text in corpora.dev.target]
    history = train(run, data, dev_words, lambda line: tqdm.write(f"{folder.name}, {line}"))
    scores = {}
    for choice in CHOICES:
        run.load(choice)
        scores[choice] = {
            "epoch": chosen_epoch(history, choice) + 1,
            **score(run, data, corpora.test, choice),
        }
    row = {
        "arm": arm,
        "seed": seed,
        "vocabularies": [len(data.source), len(data.target)],
        "parameters": sum(one.numel() for one in run.model.parameters() if one.requires_grad),
        "cpu_minutes": round(sum(epoch["cpu_s"] for epoch in history) / 60, 1),
        "epochs": history,
        "scores": scores,
    }
    write_json(folder / SCORES_FILE, row)


def score(run: Run, data: Data, test: Texts, choice: Choice) -> dict[str, float]:
    """Translate the test set and write the words to the run's folder; return the scores.

    Those of sacreBLEU are there for pieces, which give text and not words.
    """
    outputs = translate_ids(run.model, [data.source.encode(text) for text in test.source])
    words = [data.target.decode(ids) for ids in outputs]
    (run.folder / f"{choice}.txt").write_text("\n".join(map(" ".join, words)) + "\n", encoding="utf8")
    split = word_splitter("en")
    references = [split(text) for text in test.target]
    unknown = {"unknown": sum(line.count(SPECIALS[UNK]) for line in words)}
    if isinstance(data.target, Pieces):
        texts = [data.target.text(ids) for ids in outputs]
        return unknown | text_scores(texts, test.target, words, references)
    return unknown | word_scores(words, references)


def word_scores(words: Sequence[Sequence[str]], references: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return BLEU of words in lower case, as the tutorial takes it, and in the case that they have."""
    return {
        name: round(corpus_bleu(words, references, is_lower=is_lower), 2)
        for name, is_lower in (("bleu", True), ("bleu_cased", False))
    }


def text_scores(
    texts: Sequence[str],
    reference_texts: Sequence[str],
    words: Sequence[Sequence[str]],
    references: Sequence[Sequence[str]],
) -> dict[str, float]:
    """Return the scores of words, and sacreBLEU's of the text, in lower case and as it is."""
    metrics = {"sacrebleu_lower": sacrebleu.BLEU(lowercase=True), "sacrebleu": sacrebleu.BLEU()}
    found = {name: one.corpus_score(texts, [reference_texts]).score for name, one in metrics.items()}
    return word_scores(words, references) | {name: round(value, 2) for name, value in found.items()}


def score_bundle(name: str, bundle: Path, test: Texts) -> list[dict[str, Any]]:
    """Translate the test set with a model of this project, greedily and with a beam; return a row of each.

    The scores are those of `score`; those of words are of the text as spaCy splits it.
    """
    rows = []
    split = word_splitter("en")
    references = [split(text) for text in test.target]
    with Translator.open(bundle) as translator:
        for search, options in SEARCHES.items():
            texts = [output.text for output in translate_all(translator, test.source, options)]
            words = [split(text) for text in texts]
            rows.append(
                {"name": name, "search": search, **text_scores(texts, test.target, words, references)}
            )
    return rows


def _trainer_score() -> float:
    """Return the score of this project's trainer with the shape of the tutorial, of an experiment before."""
    shapes = read_result(RESULTS / "experiments-shapes.json")
    return statistics.fmean(scores_of_arm(shapes, "tutorial", "bleu_lower", GREEDY))


def _history(path: Path) -> dict[str, Any]:
    arm, _, seed = path.parent.name.rpartition("-")
    return {"arm": arm, "seed": int(seed), **read_result(path)}


def write_result(folder: Path, output: Path, bundles: Sequence[Mapping[str, Any]], command: str) -> None:
    """Write the scores of all finished runs in the folder, the epochs of the others, the scores of bundles.

    Raises:
        SystemExit: no run has an epoch.
    """
    arms = list(ARMS)
    histories = sorted(folder.glob(f"*/{HISTORY_FILE}"))
    finished = [path.with_name(SCORES_FILE) for path in histories]
    runs = [read_result(path) for path in finished if path.is_file()]
    runs.sort(key=lambda run: (arms.index(run["arm"]), run["seed"]))
    unfinished = [_history(path) for path in histories if not path.with_name(SCORES_FILE).is_file()]
    if not histories:
        raise SystemExit(f"{folder} has no run with an epoch")
    weights = histories[-1].parent / CHOICES[0]
    result: Mapping[str, Any] = {
        "provenance": provenance(weights, command),
        "packages": {name: version(name) for name in PACKAGES},
        "published": PUBLISHED,
        "trainer": {"sacrebleu_lower": _trainer_score()},
        "arms": [{"name": name, "label": label, **asdict(recipe)} for name, (label, recipe) in ARMS.items()],
        "runs": runs,
        "unfinished": unfinished,
        "bundles": bundles,
    }
    write_json(output, result)
