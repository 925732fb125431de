"""DeepL's API, version 2, for clients that know no other."""
