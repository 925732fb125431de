"""Glossaries: entries and their file formats, the store of each key's glossaries, and terms of requests.

Uses no web framework. All calls of the store and of the service wait for the database.
"""
