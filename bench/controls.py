"""Compliance of a trained model with its controls: required terms, and formal or informal German.

python -m bench.controls CHECKPOINT training/recipes/both.toml --pairs SOURCE TARGET ... \
    --output bench/results/controls-de-en.json

Lines are annotated as in training, from the recipe's dictionary, and translated greedily. Of the required
terms, 90 % must be in the translations. Of German translations with a form of address, 95 % must have only
the requested one. Where nobody is addressed, a form changes at most 1 % of the translations.
"""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

from bench.command import Command, show
from bench.quality import scores_of
from dragoman.text.address import is_order, may_address
from dragoman.text.normalization import normalise_segment
from export.checkpoint import load_checkpoint
from export.confidence import add_pairs_argument, read_line_pairs
from export.shortlist.text import evenly_spaced
from training import controls
from training.config import ENGLISH, GERMAN, load_config
from training.controls import FORMAL, INFORMAL, TERM_END, TRANSLATION, mark
from training.corpus import TextPair
from training.prepare import orient_pairs, read_terms
from training.validation import translate_greedily
from training.variants.formality import address_forms, formality, german_address, shows_second_person
from training.variants.terms import TermDictionary, find_occurrence, terms
from training.vocabulary import load_vocabularies

BARS = {"terms": 0.9, "formal": 0.95, "informal": 0.95}
"""Minimum share by control."""
MAX_CHANGED = 0.01
"""Maximum share of the translations of sentences to nobody that a form of address changes."""
SEED = 1
_REQUIRED = re.compile(f"{mark(TRANSLATION)}(.*?){mark(TERM_END)}")

Result = dict[str, Any]
Translate = Callable[[Sequence[str]], list[str]]
"""Translates sources that may contain marks of controls."""


def measure_terms(
    translate: Translate, pairs: Sequence[TextPair], dictionary: TermDictionary, num_lines: int
) -> Result:
    """Return the share of required terms in translations with the terms' annotations and without them."""
    rng = Random(SEED)  # noqa: S311 -- reproducible, not secret
    annotated = [(pair, copy) for pair in pairs if (copy := terms(pair, rng, dictionary)) is not None]
    chosen = evenly_spaced(annotated, num_lines)
    plain, copies = [pair for pair, _ in chosen], [copy for _, copy in chosen]
    required = [required_terms(copy.source) for copy in copies]
    result: Result = {"control": "terms", "lines": len(chosen), "terms": sum(map(len, required))}
    for suffix, sides in (("", copies), ("_without_control", plain)):
        outputs = translate([side.source for side in sides])
        result[f"share{suffix}"] = term_share(required, outputs)
        result[f"bleu{suffix}"] = scores_of(outputs, [pair.target for pair in plain])["bleu"]
    return result


def required_terms(source: str) -> list[str]:
    """Return the required translations in an annotated source."""
    return [term.strip() for term in _REQUIRED.findall(source)]


def term_share(required: Sequence[Sequence[str]], outputs: Sequence[str]) -> float | None:
    """Return the share of required terms in their outputs, perhaps inflected; None if there are none."""
    pairs = [(term, output) for wanted, output in zip(required, outputs, strict=True) for term in wanted]
    return _share([find_occurrence(term, output) is not None for term, output in pairs])


def measure_formality(translate: Translate, pairs: Sequence[TextPair], num_lines: int) -> dict[str, Result]:
    """Return the shares of each requested form, on lines whose German reference shows one form."""
    chosen = evenly_spaced([pair for pair in pairs if german_address(pair.target)], num_lines)
    references = [pair.target for pair in chosen]
    plain = translate([pair.source for pair in chosen])
    found: dict[str, Result] = {}
    for name, control in (("formal", FORMAL), ("informal", INFORMAL)):
        outputs = translate([f"{mark(control)} {pair.source}" for pair in chosen])
        found[name] = {"control": name, "lines": len(chosen), **form_share(control, outputs)}
        found[name] |= {"share_without_control": form_share(control, plain)["share"]}
        bleu, bleu_without = (scores_of(texts, references)["bleu"] for texts in (outputs, plain))
        found[name] |= {"bleu": bleu, "bleu_without_control": bleu_without}
    return found


def measure_orders(translate: Translate, pairs: Sequence[TextPair], num_lines: int) -> Result:
    """Return the shares of orders with a formal pronoun if that was requested, and without if not.

    A line that begins like one, such as `Water is wet`, is an order if its reference addresses somebody.
    """
    languages = (ENGLISH, GERMAN)
    found = [
        pair.source for pair in pairs if is_order(pair.source) and formality(pair, languages) is not None
    ]
    orders = evenly_spaced(found, num_lines)
    result: Result = {"lines": len(orders)}
    for name, control in (("formal", FORMAL), ("informal", INFORMAL)):
        outputs = translate([f"{mark(control)} {source}" for source in orders])
        is_formal = [FORMAL in address_forms(output) for output in outputs]
        result[name] = _share([formal == (control == FORMAL) for formal in is_formal])
    return result


def measure_neutral(translate: Translate, pairs: Sequence[TextPair], num_lines: int) -> Result:
    """Return the shares of translations that a form of address changes, of sentences that address nobody.

    They show no second person in either language, and begin with no order. The engine sends the control with
    those that may have an order inside.
    """
    neutral = [pair.source for pair in pairs if not shows_second_person(pair) and not is_order(pair.source)]
    chosen = evenly_spaced(neutral, num_lines)
    plain = translate(chosen)
    result: Result = {"lines": len(chosen)}
    for name, control in (("formal", FORMAL), ("informal", INFORMAL)):
        outputs = translate([f"{mark(control)} {source}" for source in chosen])
        sent = [may_address(source, ENGLISH) for source in chosen]
        changed = [output != text for output, text in zip(outputs, plain, strict=True)]
        both = [is_sent and is_changed for is_sent, is_changed in zip(sent, changed, strict=True)]
        result |= {f"changed_{name}": _share(both), f"changed_{name}_if_always_sent": _share(changed)}
    return result


def form_share(control: str, outputs: Sequence[str]) -> Result:
    """Return how many outputs show a form of address, and the share of these with only the requested one."""
    forms = [form for output in outputs if (form := address_forms(output))]
    return {"with_form": len(forms), "share": _share([form == {control} for form in forms])}


def misses_of(results: dict[str, dict[str, Result]]) -> list[str]:
    """Return the measured shares that are below their bars, by direction and control."""
    found = [
        f"{direction} {name}: share {parts[name]['share']} is below {bar}"
        for direction, parts in results.items()
        for name, bar in BARS.items()
        if name in parts and (parts[name]["share"] or 0) < bar
    ]
    return found + [
        f"{direction} neutral: {parts['neutral'][key]} of the translations changed, {MAX_CHANGED} at most"
        for direction, parts in results.items()
        for key in ("changed_formal", "changed_informal")
        if "neutral" in parts and (parts["neutral"][key] or 0) > MAX_CHANGED
    ]


def _share(is_kept: Sequence[bool]) -> float | None:
    return round(sum(is_kept) / len(is_kept), 4) if is_kept else None


def main() -> int:
    """Measure; return 1 if a bar is not reached."""
    options = {
        "checkpoint folder written by `python -m training`": Path,
        "recipe recipe of its run": Path,
        "--lines maximum lines of each measurement": 300,
        "--directions such as de-en; default: all of the recipe": [str],
    }
    command = Command("controls", __doc__, options)
    add_pairs_argument(command.parser)
    arguments = command.parse()
    config, model = load_config(arguments.recipe), load_checkpoint(arguments.checkpoint).model
    processors = load_vocabularies(arguments.checkpoint)
    lines = [pair for source, target in arguments.pairs for pair in read_line_pairs(source, target, "all")]
    cleaned = [TextPair(normalise_segment(source), normalise_segment(target)) for source, target in lines]

    def translate(sources: Sequence[str]) -> list[str]:
        return translate_greedily(model, controls.encode(processors[0], sources), processors[1])

    results: dict[str, dict[str, Result]] = {}
    for direction in config.trained_directions:
        if arguments.directions and direction.name not in arguments.directions:
            continue
        pairs, dictionary = list(orient_pairs(cleaned, direction, config)), read_terms(config, direction)
        if dictionary is None:
            command.parser.error(f"{arguments.recipe} has no data.term_files")
        results[direction.name] = {"terms": measure_terms(translate, pairs, dictionary, arguments.lines)}
        if direction.target == GERMAN:
            results[direction.name] |= measure_formality(translate, pairs, arguments.lines)
            results[direction.name]["orders"] = measure_orders(translate, pairs, arguments.lines)
            results[direction.name]["neutral"] = measure_neutral(translate, pairs, arguments.lines)
    show({"direction": name, **part} for name, parts in results.items() for part in parts.values())
    command.write(arguments.checkpoint, {"directions": results})
    misses = misses_of(results)
    print(*misses, sep="\n", file=sys.stderr)
    return 1 if misses else 0


if __name__ == "__main__":
    sys.exit(main())
