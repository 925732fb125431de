"""One job engine: entries of files in, translated files out, nothing lost in between."""
