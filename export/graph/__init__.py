"""Writer of the encoder and decoder graphs, node by node, from a model's weights."""
