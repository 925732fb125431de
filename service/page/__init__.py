"""The web page at `/` and the API's documentation at `/docs`; `web/` has the sources of their files."""
