"""Extracts running text from HTML and XML, and puts the same markup around its translation."""
