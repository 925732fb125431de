"""The engine over HTTP (`service.app`) and on the command line (`service.cli`)."""
