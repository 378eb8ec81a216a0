"""The tables of a SQLite store, as numbered migrations. A log that was written by an older remit stays readable.

A record's `id` is its run's key times 2**32 plus its number. So a run's records lie side by side, in order, in the one
tree that an append touches; and as that is SQLite's own integer key, a record of up to 4,061 bytes stays whole in its
page (a key of two columns would spill every one that exceeds 1,002 into a page of its own).
Columns that are asked for often stand before those that may be large.
"""

import sqlite3

APPLICATION = 0x72656D74
"""`remt`: what the header of a store of ours says it is."""
SEQ_BITS = 32
LAST_SEQ = (1 << SEQ_BITS) - 1

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """CREATE TABLE runs (
            key INTEGER PRIMARY KEY,
            run TEXT NOT NULL UNIQUE,
            epoch INTEGER NOT NULL DEFAULT 0, -- of the last claim
            owner TEXT,                       -- who made it
            boot TEXT,                        -- of which boot `expires` counts the seconds
            expires REAL                      -- NULL: the lease was given up
        )""",
        """CREATE TABLE records (
            id INTEGER PRIMARY KEY, -- key of the run << 32 | number of the record
            at INTEGER NOT NULL,    -- microseconds since 1970 UTC
            digest BLOB NOT NULL,   -- SHA-256 of the digest before, run, number, at and events
            events BLOB NOT NULL    -- a JSON array
        )""",
        """CREATE TABLE blobs (
            digest TEXT PRIMARY KEY,
            data BLOB NOT NULL
        ) WITHOUT ROWID""",
        """CREATE VIEW log AS
            SELECT run, id & 4294967295 AS seq, strftime('%Y-%m-%dT%H:%M:%fZ', at / 1e6, 'unixepoch') AS time,
                CAST(events AS TEXT) AS events, lower(hex(digest)) AS digest
            FROM runs JOIN records ON id BETWEEN key << 32 AND key << 32 | 4294967295""",
    ),
)


def migrate(connection: sqlite3.Connection, version: int) -> None:
    """Take the database from `version` to the newest in one transaction. Others may be trying the same."""
    connection.execute("BEGIN IMMEDIATE")
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    for statements in MIGRATIONS[version:]:
        for statement in statements:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {max(version, len(MIGRATIONS))}")
    connection.execute("COMMIT")
