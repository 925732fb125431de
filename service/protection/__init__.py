"""Keeps placeholders, code, ICU messages and accelerator keys intact in translations, and checks these."""
