"""The search: one loop, greedy and beam. It knows no graph and no text, only steps and ids."""
