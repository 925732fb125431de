"""Offers the engine over HTTP (`service.app`) and from a shell (`service.cli`)."""
