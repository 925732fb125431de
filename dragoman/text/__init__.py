"""Text to segments to token ids, and back without loss."""
