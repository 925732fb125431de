"""Alembic's script folder, part of the package so that a server can upgrade its database by itself."""
