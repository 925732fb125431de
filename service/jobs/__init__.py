"""Files that are translated behind their senders' backs: kept in a database, worked off by any process."""
