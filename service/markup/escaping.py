"""Text written so that no parser takes it for anything else."""

import re

from service.markup.options import MarkupLanguage

_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML has no way to write."""


def escape(text: str, language: MarkupLanguage) -> str:
    """Text as markup of a language writes it."""
    return escape_xml(text) if language is MarkupLanguage.XML else escape_html(text)


def escape_html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_xml(text: str) -> str:
    """What XML cannot write becomes U+FFFD; a `]` at the end could be the first of a `]]>`."""
    escaped = escape_html(_FORBIDDEN.sub("\ufffd", text)).replace("\r", "&#13;")
    return escaped.removesuffix("]") + "&#93;" if escaped.endswith("]") else escaped
