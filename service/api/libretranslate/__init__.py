"""LibreTranslate's API, as its clients use it, on the translation service that all APIs share."""
