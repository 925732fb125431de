"""Export of trained and imported models to bundles: model, graph writer, quantisation and validation."""
