"""The models: which there are, their download, their reloading, and the engine that opens them."""
