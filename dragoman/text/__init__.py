"""Lossless conversion between text, segments and token ids."""
