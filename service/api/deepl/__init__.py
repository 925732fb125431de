"""DeepL's API, version 2, for existing DeepL clients."""
