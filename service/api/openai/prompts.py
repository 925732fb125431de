"""Messages that are prompts: an instruction to translate, and the text that it is about."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

MAX_INSTRUCTION_CHARACTERS = 4000
"""Characters of a message in which its instruction ends."""
MAX_TAIL_CHARACTERS = 400
"""Characters after an enclosed text: `Return the translation only.`"""

_VERB = re.compile(
    r"[\s;#*>-]{0,20}(?:please\s+|kindly\s+)?(?:translate\b|treat\b[^\n.]{0,100}\btranslate\b"
    r"|provide\b[^\n.]{0,100}\btranslation\b)",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"[\s;#*>-]{0,20}(?:you are|act as|as an?\b|i want you to|your task|context\b|task\b)", re.IGNORECASE
)
_TRANSLATION = re.compile(r"translat(?:ed?|ion|ing)\b", re.IGNORECASE)
_ENCLOSURES = {
    '"""': '"""',
    "```": "```",
    "\U0001f524": "\U0001f524",
    **{f"<{name}>": f"</{name}>" for name in ("text", "source", "source_text", "input")},
}
"""What clients write before and after a text."""
_OPENING = re.compile(
    rf"(?:^|(?<=[:\uff1a]))[ \t]{{0,9}}({'|'.join(_ENCLOSURES)})", re.IGNORECASE | re.MULTILINE
)
_LABEL = re.compile(
    r"(?:^|(?<=[.!?\]]\s))[#*]{0,3}[ ]?(?:source text|original text|source|text|input)[*]{0,2}[ ]?[:\uff1a]"
    r"[*]{0,2}",
    re.IGNORECASE | re.MULTILINE,
)
_RESULT_LABEL = re.compile(
    r"\n[#*]{0,3}[ ]?(?:translated text|translation|output|result)[ ]?[:\uff1a][*]{0,2}\s*\Z", re.IGNORECASE
)
_LINE_END = re.compile(r"[:\uff1a][ \t]*\n")
_COLON = re.compile(r"[^\n:\uff1a]{0,400}[:\uff1a](?=\s*\S)")
_PARAGRAPH = re.compile(
    r"[^\n]{0,400}\b(?:following|below|next|given)\b[^\n]{0,400}\n[ \t]*\n", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message in two parts."""

    instruction: str
    """What is before the text: the lines that say into which language to translate it."""
    text: str
    """The text; empty if it cannot be told from the instruction."""


def read_prompt(message: str, names_language: Callable[[str], bool]) -> Prompt | None:
    """Return the instruction and the text of a message; None if the message has no instruction.

    Args:
        message: a user's message.
        names_language: whether an instruction names a language to translate into or from.
    """
    is_order = _VERB.match(message) is not None
    if not is_order and _ROLE.match(message) is None:
        return None
    head = message[:MAX_INSTRUCTION_CHARACTERS]
    for find in (
        _find_enclosed,
        _find_labelled,
        _find_after_line,
        *((_find_after_colon,) if is_order else ()),
    ):
        found = find(message, head)
        if found is not None:
            start, text = found
            lines = [line for line in message[:start].splitlines() if _TRANSLATION.search(line)]
            instruction = "\n".join(lines)
            return Prompt(instruction, text.strip()) if names_language(instruction) else None
    return None


def is_document(message: str) -> bool:
    """Return whether a message is a JSON object or array with texts in it, as programs write them."""
    if message.lstrip()[:1] not in {"{", "["} or '"' not in message:
        return False
    try:
        json.loads(message)
    except (ValueError, RecursionError):
        return False
    return True


def _find_enclosed(message: str, head: str) -> tuple[int, str] | None:
    """Return where a text that is enclosed begins, and the text; empty if other text follows it."""
    found = _OPENING.search(head)
    if found is None:
        return None
    closing = _ENCLOSURES[found[1].lower()]
    end = last = message.rfind(closing)
    while end >= found.end() and len(message) - end <= MAX_TAIL_CHARACTERS:
        tail = message[end + len(closing) :].strip()
        if not tail or _TRANSLATION.search(tail) is not None:
            return found.start(), message[found.end() : end]
        end = message.rfind(closing, 0, end)
    return None if last < found.end() else (found.start(), "")


def _find_labelled(message: str, head: str) -> tuple[int, str] | None:
    found = _LABEL.search(head)
    if found is None or found.start() == 0:
        return None
    return found.start(), _RESULT_LABEL.sub("", message[found.end() :])


def _find_after_line(message: str, head: str) -> tuple[int, str] | None:
    found = _LINE_END.search(head) or _PARAGRAPH.match(head)
    return None if found is None else (found.end(), message[found.end() :])


def _find_after_colon(message: str, head: str) -> tuple[int, str] | None:
    found = _COLON.match(head)
    return None if found is None else (found.end(), message[found.end() :])
