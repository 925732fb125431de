"""Dragoman's own API: `/v1`."""
