"""German that addresses its reader as `du`, made from German that says `Sie`.

Text with `du` is rare outside of dialogues. Sentences that a few rules do not fit are not converted.
"""

import re

from dragoman.text.address import has_second_person, is_order
from training.variants.drawing import words
from training.variants.formats import bilingual_list

_PLURAL_ADDRESS = re.compile(r"\b(?:alle|beide|Damen|Herren|Kolleg\w+|Freunde|sich|selbst|Ihnen allen)\b")
"""Words with which `Sie` addresses several people, or whose form depends on the verb."""
_SUBORDINATE = re.compile(
    r"\b([Ww]ie|[Dd]ass|daß|ob|[Ww]enn|[Ff]alls|was|wo|warum|weil|damit|[Bb]evor|nachdem|sobald"
    r"|die|den|das) Sie ((?:(?!\bSie\b)[^,.;:!?()])*?)\b([a-zäöüß]+n|sind)(?=[,.;:!?)]|$)"
)
_VERB_AND_SUBJECT = re.compile(r"\b([A-ZÄÖÜa-zäöüß][a-zäöüß]+n|[Ss]ind) Sie\b")
_SUBJECT_AND_VERB = re.compile(r"^Sie ([a-zäöüß]+n|sind)\b")
_OBJECT = re.compile(r"(?<=[\w,] )Sie\b")
_OTHER_SUBJECT = re.compile(r"\b(?:ich|wir|man|er|es)\b", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(Ihnen|Ihr(?:e[mnrs]?)?)\b")
_LEFT_OVER = re.compile(
    r"\b[Dd]u\b[^.;:!?]*\b(?:sind|haben|werden|können|müssen|wollen|sollen|dürfen)(?=[,.!?]|$| und\b| oder\b)"
)
"""A verb of the clause that may belong to `du` too."""
_AFTER_CONJUNCTION = re.compile(r"(?:\b(?:und|oder|aber|denn|sondern)|[-\u2013]) $")
_CLAUSE_MARK = re.compile(r"[.!?:;,()\u2013\u2014]\s*")
_POLITE = re.compile(r"(?:(?:bitte|dann|und|oder|also|nun)\s+)*", re.IGNORECASE)
_NO_VERBS = frozenset(
    words("wenn denn den denen dann sondern wegen gegen neben zwischen morgen schon von ihn")
)
_PREFIXES = "|".join(
    words(
        "zurück weiter wieder zusammen heraus hinaus ab an auf aus bei ein mit nach vor zu fest"
        " ver be ent er ge"
    )
)
_MODALS = frozenset(
    words(
        "können müssen dürfen wollen sollen möchten könnten sollten müssten dürften würden werden"
        " haben hatten hätten sind waren wären finden wissen brauchen erhalten"
    )
)
"""Verbs that begin no order."""
_DU = {line.german: line.english for line in bilingual_list("du_forms")}
"""Forms for `du` of verbs that do not follow the rule, by the form for `Sie`."""
_ORDERS = {line.german: line.english for line in bilingual_list("orders")}
"""Imperatives that do not follow the rule, by the form for `Sie`."""
_IRREGULAR = re.compile(rf"((?:{_PREFIXES})?)({'|'.join(sorted(_DU, key=len, reverse=True))})")


def to_informal(english: str, german: str) -> str | None:
    """Return a German sentence with `du` in place of `Sie`; None if no rule is certain to fit.

    Args:
        english: the sentence that it translates.
        german: a sentence that says `Sie`.
    """
    if _PLURAL_ADDRESS.search(german) or not (has_second_person(english) or is_order(english)):
        return None
    if re.match(r"(?:Sie|Ihnen|Ihre?[mnrs]?)\b", german) and not re.match("your?\\b", english, re.IGNORECASE):
        return None
    text = _SUBORDINATE.sub(lambda found: f"{found[1]} du {found[2]}{_verb_for_du(found[3])}", german)
    text = _SUBJECT_AND_VERB.sub(lambda found: f"Du {_verb_for_du(found[1])}", text)
    converted = _convert_inversions(text)
    if converted is None:
        return None
    text = converted
    while (found := _OBJECT.search(text)) is not None:
        clause = text[_last_mark(text, found.start()) : found.start()]
        is_object = clause.strip().lower().startswith(("lass", "entschuldig"))
        if _AFTER_CONJUNCTION.search(clause) or not (is_object or _OTHER_SUBJECT.search(clause)):
            return None
        text = f"{text[: found.start()]}dich{text[found.end() :]}"
    text = _PRONOUN.sub(lambda found: _pronoun(found[1], is_first=found.start() == 0), text)
    return None if re.search(r"\bSie\b", text) or _LEFT_OVER.search(text) else text


def _verb_for_du(verb: str) -> str:
    """Return the form for `du` of a verb in the form for `Sie`, in the present or past tense."""
    irregular = _IRREGULAR.fullmatch(verb)
    if irregular is not None:
        return irregular[1] + _DU[irregular[2]]
    if verb.endswith(("eln", "ern")):
        return verb[:-1] + "st"
    stem = verb.removesuffix("n").removesuffix("e")
    if stem.endswith(("s", "ß", "z", "x")):
        return stem + "t"
    return stem + ("est" if _needs_e(stem) else "st")


def _imperative(verb: str) -> str:
    """Return the imperative for one person of a verb in the form for `Sie`."""
    small = verb.lower()
    if small in _ORDERS:
        result = _ORDERS[small]
    elif small.endswith("eln"):
        result = small[:-3] + "le"
    else:
        result = small.removesuffix("n").removesuffix("e") + "e"
    return result.capitalize() if verb[0].isupper() else result


def _convert_inversions(text: str) -> str | None:
    """Convert each verb that `Sie` follows: to an order, or to a statement or question; None if unsure."""
    while (found := _VERB_AND_SUBJECT.search(text)) is not None:
        verb, begin = found[1], found.start()
        clause_begin = _last_mark(text, begin)
        before = text[clause_begin:begin]
        is_first = not _POLITE.sub("", before, count=1).strip()
        if verb.lower() in _NO_VERBS or (verb[0].isupper() and begin != clause_begin):
            return None
        if is_first and verb.lower() not in _MODALS and not text.rstrip('"“').endswith("?"):
            new = _imperative(verb)
        elif is_first or verb in _MODALS:
            if _OTHER_SUBJECT.search(before):
                return None
            new = _verb_for_du(verb.lower()) + " du"
            new = new[0].upper() + new[1:] if verb[0].isupper() else new
        else:
            return None
        text = text[:begin] + new + text[found.end() :]
    return text


def _last_mark(text: str, end: int) -> int:
    """Return where the clause begins that a position is in."""
    marks = list(_CLAUSE_MARK.finditer(text, 0, end))
    return marks[-1].end() if marks else 0


def _pronoun(pronoun: str, *, is_first: bool) -> str:
    new = "dir" if pronoun == "Ihnen" else "dein" + pronoun.removeprefix("Ihr")
    return new.capitalize() if is_first else new


def _needs_e(stem: str) -> bool:
    return stem.endswith(("t", "d")) or re.search("[^aeiouäöülrhmn][mn]$", stem) is not None
