"""Bring a database to the schema of this release: create its tables, or migrate them."""

from pathlib import Path

import sqlalchemy as sa

from service.schema.errors import SchemaError
from service.schema.tables import HEAD, METADATA

MIGRATIONS = Path(__file__).parent / "migrations"

REVISION = sa.Table(
    "alembic_version",
    sa.MetaData(),
    sa.Column("version_num", sa.String(32)),
    sa.PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Alembic's table of the database's revision, as Alembic itself creates it."""


def read_revision(connection: sa.Connection) -> str | None:
    """Return the revision; None if there is no table of revisions."""
    if not sa.inspect(connection).has_table(REVISION.name):
        return None
    return ", ".join(connection.execute(sa.select(REVISION.c.version_num)).scalars())


def upgrade_schema(connection: sa.Connection) -> None:
    """Create the tables of an empty database, or migrate those of an older release.

    Args:
        connection: transaction that locks out upgrades by other programs. On SQLite, its foreign keys
            are off, because Alembic recreates a table to change it. Other threads must not migrate other
            databases meanwhile: Alembic's `op` belongs to one at a time.

    Raises:
        SchemaError: this release cannot upgrade the schema.
    """
    revision = read_revision(connection)
    if revision == HEAD:  # another program was faster
        return
    if revision is None:
        # Fail if another program has tables with these names.
        METADATA.create_all(connection, checkfirst=False)
        REVISION.create(connection)
        connection.execute(sa.insert(REVISION).values(version_num=HEAD))
        return
    _migrate(connection, revision)


def _migrate(connection: sa.Connection, revision: str) -> None:
    # Alembic's import takes a tenth of a second, which every start would take if it were above.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415
    from alembic.script import ScriptDirectory  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    if revision not in known:
        raise SchemaError(
            f"its schema has revision {revision}, which this release does not know, so a newer one upgraded "
            "it; use that release, or a backup from before the upgrade"
        )
    command.upgrade(config, "head")
