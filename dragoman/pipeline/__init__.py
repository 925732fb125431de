"""The stages of one text, in order: from text to segments to ids, and from ids back to text."""
