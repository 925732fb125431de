"""Reproduction of a known tutorial's Transformer on Multi30k, and of what each difference from it is worth.

The recipe is that of Ben Trevett's "Attention is All You Need" notebook; see `bench.tutorial.recipes`.
"""
