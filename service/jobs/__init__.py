"""Asynchronous translation of files. Jobs are queued in a database, and any process can run them."""
