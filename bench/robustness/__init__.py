"""Robustness of a bundle against realistic inputs, judged by rules. See docs/reports/robustness.md."""
