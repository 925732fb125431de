"""Escapes text for HTML and XML."""

import re

from service.markup.options import MarkupLanguage

_FORBIDDEN = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot represent."""


def escape(text: str, language: MarkupLanguage) -> str:
    """Escape text for a markup language."""
    return escape_xml(text) if language is MarkupLanguage.XML else escape_html(text)


def escape_html(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def escape_xml(text: str) -> str:
    """Escape text for XML; forbidden characters become U+FFFD. Escape a last `]`: it may begin a `]]>`."""
    escaped = escape_html(_FORBIDDEN.sub("\ufffd", text)).replace("\r", "&#13;")
    return escaped.removesuffix("]") + "&#93;" if escaped.endswith("]") else escaped
