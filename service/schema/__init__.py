"""The database schema: its tables, and the Alembic migrations of databases that older releases created."""
