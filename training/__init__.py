"""From parallel text to a checkpoint."""
