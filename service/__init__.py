"""The engine over HTTP (`service.server.app`) and on the command line (`service.cli`)."""
