"""Search and forced decoding over steps and ids, independent of graphs and text."""
