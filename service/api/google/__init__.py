"""Google's Cloud Translation API v2, on the translation service that all APIs share."""
