"""The tutorial's recipe: its batches, its model and its metric, against independent implementations."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from bench.provenance import read_result
from bench.quality import translate_all
from bench.tutorial import results
from bench.tutorial.data import (
    BOS,
    EOS,
    PAD,
    UNK,
    Pieces,
    Words,
    bucket_batches,
    make_batches,
    pad,
    word_splitter,
)
from bench.tutorial.model import Dropout, Layer, TutorialAttention, TutorialTransformer, sinusoids
from bench.tutorial.recipes import ARMS, EXACT, PUBLISHED, Recipe
from bench.tutorial.results import Corpora, read_corpora, run_arm, score_bundle, write_result
from bench.tutorial.train import (
    Data,
    Run,
    Texts,
    add_gradients,
    chosen_epoch,
    corpus_bleu,
    dev_loss,
    learning_rate_factor,
    train_epoch,
)
from dragoman import DecodingOptions, Translator
from export.bundle import ExportError

TINY = Path(__file__).parents[1] / "tiny" / "bundle-fp32"
SMALL = replace(EXACT, width=16, heads=2, feed_forward=24, layers=1, epochs=3, batch_size=8)


def test_bleu_is_that_of_the_words_as_they_are_without_smoothing() -> None:
    reference = ["A", "dog", ",", "a", "cat", "(", "and", ")", "a-ball"]
    output = ["a", "dog", ",", "a", "cat", "(", "or", ")", "a-ball"]
    # In lower case, 8 of 9 words match, 6 of 8 pairs, 4 of 7 triples and 3 of 6 quadruples.
    expected = 100 * (8 / 9 * 6 / 8 * 4 / 7 * 3 / 6) ** 0.25
    assert corpus_bleu([output], [reference], is_lower=True) == pytest.approx(expected)
    assert corpus_bleu([output], [reference], is_lower=False) < expected
    assert corpus_bleu([output[:3]], [reference], is_lower=True) == 0


def test_words_are_split_first_and_lowered_then() -> None:
    words = Words.build(["Don't go. Go!"], word_splitter("en"), 2, is_lower=True)
    assert words.words[4:] == ("go",)
    assert words.encode("GO, now") == (4, UNK, UNK)
    assert words.decode([4, UNK]) == ["go", "<unk>"]


def test_pieces_spell_words_that_were_never_seen() -> None:
    pieces = Pieces.build(["Ein Haus am See."] * 9, word_splitter("en"), 270, is_lower=True)
    assert pieces.decode(pieces.encode("Ein Œuvre, am See.")) == ["ein", "œuvre", ",", "am", "see", "."]


def test_an_epoch_has_every_pair_once_in_batches_of_like_lengths() -> None:
    draw = random.Random(1)  # noqa: S311
    lengths = [draw.randint(1, 40) for _ in range(2000)]
    pairs = [((number,) * length, (number,) * length) for number, length in enumerate(lengths)]
    batches = [*bucket_batches(pairs, 16, draw)]
    assert sorted(pair for batch in batches for pair in batch) == sorted(pairs)
    padded = sum(len(batch) * max(len(source) for source, _ in batch) for batch in batches)
    assert padded < 1.1 * sum(lengths)
    means = [np.mean([len(source) for source, _ in batch]) for batch in batches]
    assert means != sorted(means)


def test_the_tutorials_batches_are_random_and_have_every_pair_once() -> None:
    pairs = [((number,) * (1 + number // 100), (number,)) for number in range(1000)]
    batches = [*make_batches(EXACT, pairs, random.Random(1))]  # noqa: S311
    assert [len(batch) for batch in batches] == [128] * 7 + [104]
    assert sorted(pair for batch in batches for pair in batch) == pairs
    assert all(len({len(source) for source, _ in batch}) > 5 for batch in batches)


def test_a_batch_in_parts_has_the_gradients_of_the_whole(tmp_path: Path) -> None:
    data, run = _run(replace(SMALL, precision="fp32", dropout=0.0), tmp_path)
    batch = [(source[: 3 + number % 4], target) for number, (source, target) in enumerate(data.train[:8])]
    loss = add_gradients(run, batch)
    found = [one.grad for one in run.model.parameters()]
    run.model.zero_grad()
    whole = run.loss(batch, 0.0)
    whole.backward()  # type: ignore[no-untyped-call]
    assert loss == pytest.approx(whole.item())
    torch.testing.assert_close(found, [one.grad for one in run.model.parameters()])


def test_the_recipe_has_the_weights_of_the_published_model() -> None:
    # 9,038,341 weights fit 7,853 German and 5,893 English words.
    model = TutorialTransformer(EXACT, 7853, 5893)
    assert sum(one.numel() for one in model.parameters()) == PUBLISHED["parameters"]
    assert model.encoder.embeddings.weight.abs().max() <= (6 / (7853 + 256)) ** 0.5


@pytest.mark.parametrize("norm", ["post", "pre"])
def test_a_layer_computes_what_pytorchs_layer_does(norm: str) -> None:
    torch.manual_seed(1)
    recipe = replace(SMALL, norm=norm)  # type: ignore[arg-type]
    ours = Layer(recipe, np.random.SFC64(1), is_decoder=True).eval()
    theirs = nn.TransformerDecoderLayer(16, 2, 24, batch_first=True, norm_first=norm == "pre").eval()
    assert ours.source_attention is not None
    _copy_attention(ours.self_attention, theirs.self_attn)
    _copy_attention(ours.source_attention, theirs.multihead_attn)
    theirs.linear1, theirs.linear2 = ours.inner, ours.outer
    states, source = torch.randn(3, 5, 16), torch.randn(3, 4, 16)
    later = nn.Transformer.generate_square_subsequent_mask(5)
    is_padding = torch.tensor([[False] * 4, [False, False, True, True], [False, False, False, True]])
    bias = torch.zeros(3, 4).masked_fill(is_padding, -torch.inf)
    with torch.no_grad():
        expected = theirs(states, source, tgt_mask=later, memory_key_padding_mask=bias)
        found = ours(states, later[None, None], source, bias[:, None, None])
    torch.testing.assert_close(found, expected)


def test_dropout_keeps_the_mean_and_sets_the_share_to_zero() -> None:
    dropout = Dropout(0.1, np.random.SFC64(1))
    values = dropout(torch.ones(1_000_001))
    assert (values == 0).float().mean() == pytest.approx(0.1, abs=2e-3)
    assert values.mean() == pytest.approx(1.0, abs=2e-3)
    assert torch.equal(dropout.eval()(values), values)


def test_padding_changes_neither_states_nor_translations() -> None:
    torch.manual_seed(1)
    model = TutorialTransformer(SMALL, 30, 30).eval()
    short, long = (5, 6), (7, 8, 9, 10, 11)
    together, alone = pad([short, long]), pad([short])
    target = torch.tensor([[BOS, 4, 5]])
    with torch.no_grad():
        torch.testing.assert_close(model(together, target.expand(2, -1))[:1], model(alone, target))
    assert model.translate(together, 9)[0] == model.translate(alone, 9)[0]


def test_the_search_takes_the_likeliest_unit_until_the_end_or_the_limit() -> None:
    torch.manual_seed(3)
    model = TutorialTransformer(SMALL, 30, 30).eval()
    source, target = pad([(5, 6, 7)]), [BOS]
    with torch.no_grad():
        while len(target) <= 8 and target[-1] != EOS:
            logits = model.output(model(source, torch.tensor([target])))
            target.append(int(logits[0, -1].argmax()))
    assert model.translate(source, 8) == [[number for number in target[1:] if number != EOS]]


def test_sinusoids_turn_at_the_rates_of_the_paper() -> None:
    table = sinusoids(7, 8)
    assert table[3, 4] == pytest.approx(np.sin(3 / 10_000 ** (4 / 8)))
    assert table[3, 5] == pytest.approx(np.cos(3 / 10_000 ** (4 / 8)))


def test_the_loss_is_pytorchs_without_padding(tmp_path: Path) -> None:
    data, run = _run(replace(SMALL, precision="fp32"), tmp_path)
    run.model.eval()
    source, target = (pad([pair[side] for pair in data.train[:4]]) for side in (0, 1))
    logits = run.model.output(run.model(source, target[:, :-1]))
    expected = functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=PAD)
    torch.testing.assert_close(run.loss(data.train[:4], 0.0), expected)


@pytest.mark.parametrize("arm", ["exact", "muon", "tied"])
def test_training_lowers_the_loss_and_is_repeatable(arm: str, tmp_path: Path) -> None:
    sizes = {
        name: getattr(SMALL, name) for name in ("width", "heads", "feed_forward", "layers", "batch_size")
    }
    recipe = replace(ARMS[arm][1], **sizes)
    ends = []
    for _ in range(2):
        data, run = _run(recipe, tmp_path)
        before = dev_loss(run, data.dev)
        losses = [train_epoch(run, data.train, epoch) for epoch in range(2)]
        assert dev_loss(run, data.dev) < before
        ends.append(losses)
    assert ends[0] == ends[1]


def test_the_learning_rate_goes_up_stays_and_goes_to_zero() -> None:
    recipe = replace(EXACT, schedule="trapezoid")
    factors = [learning_rate_factor(step, recipe, 100) for step in (0, 9, 50, 80, 100)]
    assert factors == pytest.approx([0.1, 1.0, 1.0, 0.5, 0.0])
    assert learning_rate_factor(99, EXACT, 100) == 1.0


def test_a_choice_is_the_best_epoch_and_of_equal_ones_the_first() -> None:
    history = [{"dev_loss": loss, "dev_bleu": bleu} for loss, bleu in ((2.0, 9.0), (1.0, 9.0), (1.0, 8.0))]
    assert [chosen_epoch(history, choice) for choice in ("loss", "bleu", "last")] == [1, 0, 2]


def test_a_stopped_run_ends_as_if_it_had_not_and_the_result_has_all_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "ARMS", {"exact": ("x", SMALL)})
    texts = _texts()
    corpora = Corpora(texts, texts, texts)
    run_arm("exact", 1, corpora, tmp_path / "exact-1")

    def stop(*_: object) -> float:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(results, "ARMS", {"exact": ("x", replace(SMALL, epochs=1))})
        patch.setattr(results, "score", stop)
        with pytest.raises(KeyboardInterrupt):
            run_arm("exact", 1, corpora, tmp_path / "stopped-1")
    run_arm("exact", 1, corpora, tmp_path / "stopped-1")
    whole, stopped = (read_result(tmp_path / name / "scores.json") for name in ("exact-1", "stopped-1"))
    assert [row["train_loss"] for row in whole["epochs"]] == [row["train_loss"] for row in stopped["epochs"]]
    assert whole["scores"] == stopped["scores"]
    write_result(tmp_path, tmp_path / "result.json", [], "x")
    assert read_result(tmp_path / "result.json")["runs"] == [whole, stopped]
    with pytest.raises(SystemExit, match="no run with an epoch"):
        write_result(tmp_path / "empty", tmp_path / "result.json", [], "x")


def test_a_model_of_this_project_is_scored_by_the_same_metric() -> None:
    sources = ["Ein Hund.", "Zwei Katzen und ein Ball."]
    with Translator.open(TINY) as translator:
        outputs = translate_all(translator, sources, DecodingOptions(beam_size=1))
    # In upper case, so that only the scores without case find the words.
    references = [f"{output.text} one two three four".upper() for output in outputs]
    rows = score_bundle("tiny", TINY, Texts(sources, references))
    assert [row["search"] for row in rows] == ["greedy", "greedy, at most 50 tokens", "beam 4"]
    split = word_splitter("en")
    words = [split(output.text) for output in outputs]
    expected = corpus_bleu(words, [split(text) for text in references], is_lower=True)
    assert rows[0]["bleu"] == pytest.approx(expected, abs=0.01)
    assert rows[0]["bleu_cased"] <= rows[0]["bleu"]
    assert rows[0]["sacrebleu"] < rows[0]["sacrebleu_lower"]


@pytest.mark.parametrize(
    ("train", "dev", "message"),
    [("a b\n", "a\n", "1 columns, expected"), ("a\tb\n", "a\nb\n", "has 2 lines")],
)
def test_texts_that_do_not_fit_are_rejected(train: str, dev: str, message: str, tmp_path: Path) -> None:
    for name, content in {"train.tsv": train, "dev.de": dev, "dev.en": "a\n"}.items():
        (tmp_path / name).write_text(content)
    files = [tmp_path / "dev.de", tmp_path / "dev.en"]
    with pytest.raises((ExportError, SystemExit), match=message):
        read_corpora([tmp_path / "train.tsv"], files, files)


def _copy_attention(ours: TutorialAttention, theirs: nn.MultiheadAttention) -> None:
    layers = (ours.query, ours.key, ours.value)
    theirs.in_proj_weight = nn.Parameter(torch.cat([layer.weight for layer in layers]))
    theirs.in_proj_bias = nn.Parameter(torch.cat([layer.bias for layer in layers]))
    out: nn.Linear = theirs.out_proj
    out.weight, out.bias = ours.output.weight, ours.output.bias


def _texts() -> Texts:
    german = ("Hund", "Katze", "Haus", "Ball", "Wagen", "Kinder")
    english = ("dog", "cat", "house", "ball", "wagon", "children")
    numbers = [(first, second) for first in range(6) for second in range(6)]
    return Texts(
        [f"Ein {german[first]} und ein {german[second]}." for first, second in numbers],
        [f"A {english[first]} and a {english[second]}." for first, second in numbers],
    )


def _run(recipe: Recipe, folder: Path) -> tuple[Data, Run]:
    data = Data.build(recipe, _texts(), _texts())
    return data, Run.begin(recipe, 1, data, folder)
