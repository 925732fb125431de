"""Alembic runs this module to migrate the database of a connection that `service.schema.upgrade` opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
