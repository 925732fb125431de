"""What choices of a model's shape are worth, trained and measured: `python -m bench.experiments`."""
