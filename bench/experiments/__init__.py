"""Experiments that train and compare model shapes: `python -m bench.experiments`."""
