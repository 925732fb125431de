"""File formats: read the translatable texts of a file, and write the file with their translations."""
