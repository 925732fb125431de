"""Several bundles: which of them serves a pair, and which of them are in memory."""
