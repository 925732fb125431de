"""From a trained checkpoint to a bundle: the model, the graph writer, quantisation and validation."""
