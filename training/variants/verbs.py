"""Sentences with the verbs of a dictionary: from `den Tisch decken`, `Gestern hat er den Tisch gedeckt`.

A dictionary has verbs in the infinitive, and a model that reads them as terms alone does not write them in
sentences. The forms of a verb are made by rule and used only where other text has them: `gebügelt` is a word,
`gelauft` is not, so that verbs which change their vowel stay in the infinitive.

A heading of `word_lists/verb_frames.txt` names the form of its frames; `he` before it marks those whose
subject is he, which also fit phrases with `sich` or `one's`. A slot `<verb>` is the phrase in that form; if
the verb stands elsewhere in the German frame, `<finite>` is the verb, and `<verb>` the rest.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random

from training.corpus import TextPair
from training.variants.drawing import sectioned_list, stream
from training.variants.formats import Bilingual
from training.variants.frames import fill_slots

LEAST_COUNT = 3
"""Number of times that other text has an infinitive whose phrases are used."""
LEAST_SHARE = 0.02
"""Least number of times that other text has a form made by rule, as a share of the infinitive's."""
SHARE_OF_PRONOUNS = 0.6
MAX_WORDS = 7

_WORD = re.compile(r"[^\W\d_]+")
_PHRASE = re.compile(r"(?:[\w ,-]+ )?[a-zäöüß]{2,}(?:en|ern|eln)")
_ENGLISH_PHRASE = re.compile(r"to (?!(?:a|an|the|one) )[\w' -]+")
_INSEPARABLE = re.compile("(be|ge|er|ver|zer|ent|emp|miss).{4}")
_REFLEXIVE = re.compile(r"\b(?:sich|sein(?:e[mnrs]?)?|one's|oneself|your|yourself)\b")
_OBJECT = re.compile(r"(?:etwas|jemandem|jemanden|d(?:en|ie|as)|ein(?:en|e)?) ")
_GERMAN_OBJECT = re.compile(r"\b(?:etwas|jemand\w*)\b")
_ENGLISH_OBJECT = re.compile(r"\b(?:some(?:thing|one|body))\b")
_BECOME = re.compile(r"to (?:be|become|get|grow|turn|go) ")
_PRONOUNS = (
    ("jemanden ", "someone", (("ihn", "him"), ("sie", "her"), ("mich", "me"), ("uns", "us"))),
    ("jemandem ", "someone", (("ihm", "him"), ("ihr", "her"), ("mir", "me"), ("uns", "us"))),
    ("etwas ", "something", (("es", "it"), ("das", "that"), ("alles", "everything"))),
)


@dataclass(frozen=True, slots=True)
class VerbPhrase:
    """A dictionary's phrase in the infinitive, and the forms that its verb has by rule."""

    text: Bilingual
    """Without `to`: `den Tisch decken`, `set the table`."""
    forms: Mapping[str, Bilingual]
    """The verbs in each form that a heading of the frames names; German after `zu` may be one word."""
    prefix: str
    """The part of the German verb that stands at the end of a main clause, or empty."""

    @property
    def verbs(self) -> Bilingual:
        return self.forms["infinitive"]

    @property
    def has_object(self) -> bool:
        return _OBJECT.match(self.text.german) is not None

    @property
    def is_reflexive(self) -> bool:
        return any(_REFLEXIVE.search(side) for side in (self.text.german, self.text.english))


def verb_sentences(
    readings: int, seed: int, source_language: str, dictionary: Iterable[TextPair], text: Iterable[TextPair]
) -> Iterator[TextPair]:
    """Yield sentences in which each verb phrase is drawn `readings` times, all before any comes again.

    Args:
        readings: number of sentences of each phrase.
        seed: decides every sentence.
        source_language: language of the sources, German or English.
        dictionary: terms and phrases; those other than `... verb = to ...` are left out.
        text: sentences, which tell what forms exist, and which translations are usual.
    """
    rng = stream(seed, "verbs")
    phrases = verb_phrases(
        (Bilingual.of_pair(pair, source_language) for pair in dictionary),
        (Bilingual.of_pair(pair, source_language) for pair in text),
    )
    frames = {
        heading: [Bilingual(*line.split(" = ")) for line in lines]
        for heading, lines in sectioned_list("verb_frames").items()
    }
    for _ in range(readings):
        rng.shuffle(phrases)
        for phrase in phrases:
            yield _sentence(phrase, frames, rng).to_pair(source_language)


def verb_phrases(dictionary: Iterable[Bilingual], text: Iterable[Bilingual]) -> list[VerbPhrase]:
    """Return the usual verb phrases of a dictionary whose verbs other text has, with their forms."""
    sentences = [
        Bilingual(*(" ".join(_WORD.findall(side.lower())) for side in (pair.german, pair.english)))
        for pair in text
    ]
    german = Counter(word for sentence in sentences for word in sentence.german.split(" "))
    english = Counter(word for sentence in sentences for word in sentence.english.split(" "))
    found = [
        _phrase(term, verbs, german, english)
        for term in dictionary
        if _is_verb_phrase(term)
        for verbs in [Bilingual(term.german.split(" ")[-1], term.english.split(" ")[1])]
        if german[verbs.german] >= LEAST_COUNT and english[verbs.english] >= LEAST_COUNT
    ]
    return _usual(found, sentences)


def _is_verb_phrase(term: Bilingual) -> bool:
    """Return whether both sides are phrases in the infinitive with the same objects, none of them passive."""
    german, english = term.german, term.english
    return (
        _PHRASE.fullmatch(german) is not None
        and _ENGLISH_PHRASE.fullmatch(english) is not None
        and max(german.count(" "), english.count(" ")) <= MAX_WORDS
        and len(_GERMAN_OBJECT.findall(german)) == len(_ENGLISH_OBJECT.findall(english))
        and german.endswith(" werden") <= (_BECOME.match(english) is not None)
    )


def _usual(phrases: Sequence[VerbPhrase], sentences: Iterable[Bilingual]) -> list[VerbPhrase]:
    """Return the phrases whose verbs translate each other in sentences more often than other translations."""
    german, english = defaultdict[str, set[str]](set), defaultdict[str, set[str]](set)
    for phrase in phrases:
        for forms in phrase.forms.values():
            german[forms.german].add(phrase.verbs.german)
            english[forms.english].add(phrase.verbs.english)
    both = Counter[Bilingual]()
    for sentence in sentences:
        verbs = {verb for word in set(sentence.german.split(" ")) for verb in german.get(word, ())}
        translated = {verb for word in set(sentence.english.split(" ")) for verb in english.get(word, ())}
        both.update(Bilingual(*pair) for pair in product(verbs, translated))
    best = Counter[str]()
    for phrase in phrases:
        for side in (phrase.text.german, phrase.text.english):
            best[side] = max(best[side], both[phrase.verbs])
    return [
        phrase
        for phrase in phrases
        if both[phrase.verbs] == best[phrase.text.german] == best[phrase.text.english]
    ]


def _phrase(term: Bilingual, verbs: Bilingual, german: Counter[str], english: Counter[str]) -> VerbPhrase:
    prefix, forms = _german_forms(verbs.german, german)
    translated = _english_forms(verbs.english, english)
    return VerbPhrase(
        Bilingual(term.german, term.english.removeprefix("to ")),
        {form: Bilingual(forms[form], translated[form]) for form in forms.keys() & translated.keys()},
        prefix,
    )


def _german_forms(verb: str, counts: Counter[str]) -> tuple[str, dict[str, str]]:
    """Return the separable prefix of a verb, and its forms that text has."""
    forms = {"infinitive": verb}
    prefix = next(
        (verb[:end] for end in range(2, len(verb) - 3) if counts[f"{verb[:end]}zu{verb[end:]}"]), ""
    )
    simple = verb.removeprefix(prefix)
    stem = simple.removesuffix("n").removesuffix("e")
    is_inseparable = not prefix and _INSEPARABLE.match(verb) is not None
    least = max(1.0, LEAST_SHARE * counts[verb])
    for ending in ("t", "et"):
        participle = f"{prefix}{'' if is_inseparable else 'ge'}{stem}{ending}"
        # Without `ge`, the participle may be another form of a verb that changes its vowel: `bekommt`.
        if counts[participle] >= least and (counts[f"{stem}{ending}e"] or not is_inseparable):
            forms |= {"participle": participle, "present": f"{stem}{ending}", "past": f"{stem}{ending}e"}
    if prefix or is_inseparable or "participle" in forms:
        forms["zu"] = f"{prefix}zu{simple}" if prefix else f"zu {verb}"
    return prefix, forms


def _english_forms(verb: str, counts: Counter[str]) -> dict[str, str]:
    """Return the regular forms of an English verb that text has."""
    forms = {"infinitive": verb, "zu": verb}
    base = f"{verb[:-1]}i" if re.search("[^aeiou]y$", verb) else verb
    least = max(1.0, LEAST_SHARE * counts[verb])
    pasts = (f"{verb}d",) if verb.endswith("e") else (f"{base}ed", f"{verb}{verb[-1]}ed")
    third = f"{base}es" if re.search("(?:s|x|ch|sh|z|o|[^aeiou]i)$", base) else f"{verb}s"
    if counts[third] >= least:
        forms["present"] = third
    past = max(pasts, key=lambda form: counts[form])
    if counts[past] >= least:
        forms |= {"past": past, "participle": past}
    return forms


def _sentence(phrase: VerbPhrase, frames: Mapping[str, list[Bilingual]], rng: Random) -> Bilingual:
    """Fill a frame that fits the phrase."""
    fitting = [
        heading
        for heading in frames
        if heading.split(" ")[-1] in phrase.forms
        and (heading.startswith("he ") or not phrase.is_reflexive)
        and (heading.split(" ")[-1] != "participle" or phrase.has_object)
    ]
    heading = rng.choice(fitting)
    frame = rng.choice(frames[heading])
    is_main = "<finite>" in frame.german
    filling = _inflected(_with_pronoun(phrase.text, rng), phrase, heading.split(" ")[-1], is_main=is_main)
    german, english = filling.german, filling.english
    if phrase.is_reflexive:
        english = re.sub(r"\b(?:one's|your)\b", "his", re.sub(r"\b(?:one|your)self\b", "himself", english))
    finite, _, rest = german.partition(" ")
    german = frame.german.replace("<finite>", finite).replace("<verb>", rest if is_main else german)
    german, english = german.replace(" .", ".").replace(" ?", "?"), frame.english.replace("<verb>", english)
    return fill_slots(Bilingual(german[0].upper() + german[1:], english[0].upper() + english[1:]), rng)


def _inflected(text: Bilingual, phrase: VerbPhrase, form: str, *, is_main: bool) -> Bilingual:
    """Return the text in a form of its verb, which comes first in a main clause, with its prefix last."""
    verbs = phrase.forms[form]
    rest = text.german.removesuffix(phrase.verbs.german)
    english = verbs.english + text.english.removeprefix(phrase.verbs.english)
    if is_main:
        return Bilingual(" ".join(f"{verbs.german} {rest} {phrase.prefix}".split()), english)
    finite = phrase.prefix if form in {"present", "past"} else ""
    return Bilingual(f"{rest}{finite}{verbs.german}", english)


def _with_pronoun(text: Bilingual, rng: Random) -> Bilingual:
    """Mostly replace an object `etwas` or `jemanden` by a pronoun."""
    for german, english, pronouns in _PRONOUNS:
        is_object = text.german.startswith(german) and re.match(rf"\w+ {english}\b", text.english)
        if is_object and rng.random() < SHARE_OF_PRONOUNS:
            new, other = rng.choice(pronouns)
            return Bilingual(text.german.replace(german, f"{new} "), text.english.replace(english, other, 1))
    return text
