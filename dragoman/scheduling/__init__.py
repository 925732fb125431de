"""Which sources run together."""
