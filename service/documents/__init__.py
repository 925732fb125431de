"""Whole files: what they are, how they are translated, and where they wait to be fetched."""
