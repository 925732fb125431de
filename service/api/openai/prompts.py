"""Messages that are prompts: an instruction to translate, and after it the text, which is never cut.

An instruction is the sentences that begin a message, speak to a model about translating, and name a target
language; or a line of nothing but languages. It ends with the first of them that ends in a colon, or before a
blank line or another sentence. All that follows is the text; only what encloses all of it is taken off.
"""

import json
import re
from dataclasses import dataclass

from service.api.openai.language_names import LanguageNames
from service.api.openai.languages import find_mentions, languages_of_word

MAX_INSTRUCTION_CHARACTERS = 4000
"""Characters of a message in which its instruction ends."""
MAX_LANGUAGES_CHARACTERS = 100
"""Characters of a line of nothing but languages."""
_GAP = re.compile(r"[ \t]*(?:[ \t\r]*\n)*")
_BLANK_LINE = re.compile(r"[ \t\r]*\n[ \t\r]*\n")
COLONS = (":", "\uff1a")
_WORDS = r"(?:translat(?:e|ing|ions?)|übersetz(?:en?|t|ung))"
_TRANSLATE = re.compile(rf"\b{_WORDS}\b", re.IGNORECASE)
_NOTHING_ELSE = re.compile(rf"(?:[^\w#]|_|please|bitte|{_WORDS})*", re.IGNORECASE)
_SENTENCE = re.compile(
    r"\s*(?:#+[ ]*(?i:context)\n.*?(?=\n#)"
    r"|(?:\([^()\n]*\)|[^\n])*?(?:[:\uff1a]|(?<!\n\d)[.!?]+(?=\s|\Z)|(?=\n|\Z)))",
    re.DOTALL,
)
"""A sentence on one line, or the section of a prompt about the context."""
_TO_MODEL = re.compile(
    r"\s*(?P<heading>#+[ ]*(?:context|role|task)[ \t]*(?:\n|\Z))"
    r"|[\s\d;*>.)-]{0,20}(?:(?:please|bitte|just|only)\s+)?"
    r"(?:(?:i want you to|your task is to|you (?:must|should|will))\s+)?"
    r"(?:translate|übersetzen?(?:\s+sie)?|treat|provide|give|return|(?:re)?write|respond|reply|answer|output|convert"
    r"|gib|schreibe?|antworte|you|act as|as an?|du bist|sie sind|do not|don't|never|no|use|keep|if)\b"
    r"(?!\s*[:\uff1a])",
    re.IGNORECASE,
)
"""The beginning of a sentence that says what to do, or who is meant."""
_ABOUT = re.compile(
    r"\b(?:translat\w+|übersetz\w+|assistant|outputs?|reply|result|context|expla\w+|notes?|notation)\b",
    re.IGNORECASE,
)
_OBJECT = re.compile(
    r"\s*(?:the|an?)?\s*\Z|.*\b(?:following|below|given|next|translator|folgende[nrs]?)\b"
    r"|.*\b(?:this|it|texte?s?|contents?|messages?|inputs?|sentences?|paragraphs?|words?|strings?|subtitles?|lines?"
    r"|translation|das|dies|satz|sätze)\W*\Z",
    re.IGNORECASE,
)
"""Object of an instruction, up to the languages: nothing, or a word for the text behind it."""
_ROLE = re.compile(r"\b(?:translator|translation engine|übersetzer)\b", re.IGNORECASE)
_MARKED = re.compile(
    r"(?P<instruction>[^\n]{1,2000}?\b(?:enclosed|delimited|wrapped) (?:in|by|with) "
    r"(?P<mark>\"{3}|\U0001f524)(?:(?!(?P=mark))[^\n]){0,2000}?[:\uff1a]\s{0,9})"
    r"(?P=mark)(?P<text>.*)(?P=mark)\s*(?:please\b[^\n]{0,400})?\Z",
    re.IGNORECASE | re.DOTALL,
)
"""A prompt that names the marks around the text, and may go on after them."""
_INTRODUCED = re.compile(
    r"\s*(?:you are|act as|as an?|du bist|sie sind)\b"
    r"[^\n.]{0,200}\b(?:translator|translation engine|übersetzer)\b.{0,3000}?"
    r"\b(?:translate|übersetzen?(?:\s+sie)?)\s[^\n.!?:]{0,80}\b(?:following|below|folgende[nrs]?)\b"
    r"[^\n.!?:]{0,100}[:\uff1a][ \t\r]*\n[ \t\r]*\n",
    re.IGNORECASE | re.DOTALL,
)
"""A role, all that is said to it, and `translate the following text into …:` before a blank line."""
_LABELLED = re.compile(
    r"[*]{0,2}(?P<label>source text|original text|source|text|input)[*]{0,2}[ ]?[:\uff1a][*]{0,2}[ \t]*"
    r"(?P<text>.*?)(?:\n[*]{0,2}(?:translated text|translation|output|result)[ ]?[:\uff1a][*]{0,2})?\Z",
    re.IGNORECASE | re.DOTALL,
)
_FRAMES = (
    ('"""', '"""'),
    ("```\n", "\n```"),
    ('"', '" =>'),
    *((f"<{name}>", f"</{name}>") for name in ("text", "source", "source_text", "input")),
)
"""Text that clients write before and after a text."""
_TASK = re.compile(
    r"\s*#{1,6}[ ]*task\b.{0,8000}?\n#{1,6}[ *]*output\b.{0,400}?\bJSON\b", re.IGNORECASE | re.DOTALL
)
"""Requests of chat programs for titles and the like."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A message in two parts."""

    instruction: str
    """Part that names the language to translate into."""
    text: str
    """All that follows, without a frame around all of it; empty if there is nothing in the frame."""
    is_certain: bool
    """Whether the instruction is one even where the languages are named elsewhere, too."""


@dataclass(slots=True)
class _Instruction:
    start: int = 0
    end: int = 0
    says_translate: bool = False
    names_text: bool = False


def read_prompt(message: str, names: LanguageNames) -> Prompt | None:
    """Return the instruction and the text of a message; None if it has no instruction, or no text."""
    marked = _MARKED.match(message)
    if marked is not None and _find_order(marked["instruction"], names) is not None:
        return Prompt(marked["instruction"], marked["text"].strip(), is_certain=True)
    head = message[:MAX_INSTRUCTION_CHARACTERS]
    introduced = _INTRODUCED.match(head)
    if introduced is not None:
        text = _GAP.sub("", message[introduced.end() :], count=1).rstrip()
        return Prompt(introduced[0], _without_frame(text, introduced[0].rstrip()), is_certain=True)
    found = _find_order(head, names) or _find_languages(head, names)
    rest = "" if found is None else _GAP.sub("", message[found.end :], count=1).rstrip()
    if found is None or not rest:
        return None
    instruction = message[found.start : found.end]
    text = _without_frame(rest, instruction)
    is_below = not text or "\n" in message[found.end : message.find(text, found.end)]
    is_certain = is_below or (found.names_text and instruction.endswith(COLONS))
    return Prompt(instruction, text, found.says_translate and is_certain)


def read_quoted_prompt(message: str) -> Prompt | None:
    """Return a prompt that has the text in quotation marks amid all else; None for others."""
    text, found, languages = message.partition('\nTranslate "')[2].rpartition('" from ')
    return Prompt("from " + languages.partition("\n")[0], text, is_certain=True) if found else None


def is_for_chat_model(message: str) -> bool:
    """Return whether a message is JSON as programs write it, or a task whose answer must be JSON."""
    if _TASK.match(message) is not None:
        return True
    if message.lstrip()[:1] not in {"{", "["} or '"' not in message:
        return False
    try:
        json.loads(message)
    except (ValueError, RecursionError):
        return False
    return True


def _find_order(head: str, names: LanguageNames) -> _Instruction | None:
    """Return the sentences that are for a model; None if none of them names a target language.

    Those on lines below the one that names it belong to it if their paragraph has nothing else.
    """
    found = _Instruction()
    position = order_end = 0
    while (sentence := _SENTENCE.match(head, position)) is not None and sentence.end() > position:
        words = _TO_MODEL.match(sentence[0])
        if order_end and _BLANK_LINE.match(sentence[0]) is not None:
            found.end = position
            break
        is_order = words is not None and not words["heading"]
        mentions = list(find_mentions(head, names, *sentence.span())) if is_order else []
        if words is None or not (
            mentions or _ABOUT.search(sentence[0]) or (words["heading"] and not order_end)
        ):
            break
        position = sentence.end()
        if words["heading"] is not None and not order_end:
            found.start = position
        elif not order_end and any(each.side == "target" for each in mentions):
            translated = head[sentence.start() + words.end() : min(each.start for each in mentions)]
            if _OBJECT.match(translated) is None and _ROLE.search(sentence[0]) is None:
                return None
            order_end = position
            found.says_translate = _TRANSLATE.search(sentence[0]) is not None
            found.names_text = bool(translated.strip())
        is_introduction = sentence[0].endswith(COLONS) and _TRANSLATE.search(sentence[0]) is not None
        if is_introduction or "\n" not in head[order_end:position]:
            found.end = position
        if order_end and sentence[0].endswith(COLONS):
            break
    return found if order_end else None


def _find_languages(head: str, names: LanguageNames) -> _Instruction | None:
    """Return a first line of nothing but languages."""
    line = head.lstrip().partition("\n")[0].rstrip()
    if len(line) > MAX_LANGUAGES_CHARACTERS:
        return None
    mentions = list(find_mentions(line, names))
    starts, ends = [each.start for each in mentions], [each.end for each in mentions]
    others = f"{line[: min(starts, default=0)]} {line[max(ends, default=0) :]}"
    if languages_of_word(line, names) is None and not (mentions and _NOTHING_ELSE.fullmatch(others)):
        return None
    end = len(head) - len(head.lstrip()) + len(line)
    return _Instruction(0, end, _TRANSLATE.search(others) is not None, names_text=True)


def _without_frame(text: str, instruction: str) -> str:
    """Return a text without what encloses all of it.

    A label is no frame behind a colon, if the instruction does not name it.
    """
    labelled = _LABELLED.match(text)
    if labelled is not None and (
        labelled["label"].lower() in instruction.lower() or not instruction.endswith(COLONS)
    ):
        text = labelled["text"].strip("\r\n")
    for opening, closing in _FRAMES:
        inner = text[len(opening) : -len(closing)]
        if text[: len(opening)].lower() == opening and text[len(opening) :].lower().endswith(closing):
            return text if opening in inner or closing in inner else inner.strip()
    return text
