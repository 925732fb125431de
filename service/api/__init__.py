"""The HTTP APIs: Dragoman's own, LibreTranslate's, DeepL's, Google's and OpenAI's."""
