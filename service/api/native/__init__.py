"""The API of Dragoman's own: `/v1`."""
