"""Metrics, logs and traces of the server, without text from its clients."""
