"""Jobs over HTTP: their requests, their responses and their events."""
