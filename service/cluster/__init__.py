"""Batch jobs on a Ray cluster: a pool of engines on its nodes translates the pending entries."""
