"""Files that people have: what is to be translated in them, and the same files translated."""
