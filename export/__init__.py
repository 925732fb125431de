"""Export of trained and imported models to bundles: model, graph writer, quantisation and validation."""

import dragoman.graphs  # noqa: F401 -- onnxruntime must not report what an export does, whoever imports it first
