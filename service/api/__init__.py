"""The HTTP APIs: Dragoman's own, LibreTranslate's and DeepL's."""
