"""Translation memories: pairs of texts, the store of each key's memories, exact and similar matches.

Uses no web framework. All calls of the store and of the service wait for the database.
"""
