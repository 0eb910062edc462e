"""The tables, and how an older file becomes a newer one.

One row of `message` is the whole life of a message: its place in the queue, its holder, its record and the memory of
its id are the same row. Each row is in one partial index by its state (delayed ones in two), and finished rows are in
none, but those whose end is to be announced. Those that may wait only once are in one more while they wait.

A row is made as large as it will be when it is leased, so that lending writes in place: in a full page, a row
that grows splits the page, and that was half the cost of a lease. Hence states are numbers, `moment` is never
empty, `fence` is stored with as many bytes before the first lease (`NO_FENCE` in `transaction.py`) as after it, and who
leased stands in `loan`, once for a whole batch.

Times named `moment` are store time in microseconds (`timeline.py`); times named `…_at` are wall times in
seconds and only shown. Used once, by `store.py`, when the file is opened.
"""

import sqlite3

from tenure.errors import SchemaTooNew, StoreDamaged, StoreForeign

#: "Tnur": lets `file` and other programs recognise the database.
APPLICATION_ID = 0x546E7572

#: RETURNING is not used, but UPDATE … FROM (3.33) and 32 766 parameters (3.32) are.
OLDEST_LIBRARY = (3, 35, 0)

_FIRST = """
CREATE TABLE message (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    queue TEXT NOT NULL,
    task TEXT NOT NULL,
    -- see states.py, or read the view messages
    state INTEGER NOT NULL DEFAULT 0,
    priority INTEGER NOT NULL,
    -- delayed: when it is due. leased: when the lease ends. finished or dead: when that was. ready: since when
    moment INTEGER,
    -- the loan under which it is, or was last, leased
    fence INTEGER NOT NULL DEFAULT 16777216,
    -- bit 1: it has a key. bit 2: it has a row in note. bit 4: its lease got a fresh window. From 8 on: how often its
    -- lease was touched (states.py)
    extras INTEGER NOT NULL DEFAULT 0,
    deliveries INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    crashes INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    lease_seconds REAL,
    max_attempts INTEGER,
    sent_at REAL NOT NULL,
    finished_at REAL,
    reason BLOB,
    -- where a whole batch had the same one, else in outcome
    result BLOB,
    envelope BLOB
);
CREATE INDEX message_ready ON message (queue, priority DESC, seq) WHERE state = 0;
CREATE INDEX message_leased ON message (moment) WHERE state = 1;
CREATE INDEX message_delayed ON message (queue, moment) WHERE state = 2;
CREATE INDEX message_dead ON message (queue, seq) WHERE state = 4;

CREATE VIEW messages AS SELECT
    seq, id, queue, task,
    CASE state WHEN 0 THEN 'ready' WHEN 1 THEN 'leased' WHEN 2 THEN 'delayed' WHEN 3 THEN 'completed'
               WHEN 4 THEN 'dead' ELSE 'cancelled' END AS state,
    priority, deliveries, attempts, crashes, lost, sent_at, finished_at,
    CAST(reason AS TEXT) AS reason, CAST(envelope AS TEXT) AS envelope
FROM message;

-- One call of lease (for one number of seconds): all its messages carry its fence. The newest row is never removed.
CREATE TABLE loan (fence INTEGER PRIMARY KEY, owner TEXT NOT NULL, request TEXT NOT NULL, seconds REAL NOT NULL);
INSERT INTO loan VALUES (16777216, '', '', 0);

CREATE TABLE note (seq INTEGER PRIMARY KEY, progress BLOB, checkpoint BLOB, history BLOB);
CREATE TABLE outcome (seq INTEGER PRIMARY KEY, result BLOB);

CREATE TABLE claim (
    seq INTEGER PRIMARY KEY,
    scope TEXT NOT NULL UNIQUE,
    id TEXT NOT NULL,
    digest TEXT NOT NULL,
    state TEXT NOT NULL,
    owner TEXT,
    fence INTEGER,
    -- running: when the claim lapses. otherwise: when it was last changed
    moment INTEGER NOT NULL,
    result BLOB,
    handoffs BLOB
);
CREATE INDEX claim_id ON claim (id);
CREATE INDEX claim_running ON claim (owner) WHERE state = 'running';

CREATE TABLE owner (id TEXT PRIMARY KEY, state TEXT NOT NULL, moment INTEGER NOT NULL, owner BLOB) WITHOUT ROWID;

CREATE TABLE journal (
    last_seq INTEGER PRIMARY KEY,
    count INTEGER NOT NULL,
    newest_at REAL NOT NULL,
    oldest_at REAL NOT NULL,
    events BLOB NOT NULL
);

CREATE TABLE meta (name TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('message_cursor', 0), ('claim_cursor', 0);
"""

_SECOND = """
-- Message.unique. Empty for most, and never changed: so a row still keeps its size
ALTER TABLE message ADD COLUMN uniqueness TEXT;
-- Message.expires_at, of those with uniqueness alone: whom one stands for depends on it
ALTER TABLE message ADD COLUMN expires_at REAL;
CREATE INDEX message_unique ON message (queue, task, uniqueness, sent_at, expires_at)
    WHERE uniqueness IS NOT NULL AND state IN (0, 2);

DROP VIEW messages;
CREATE VIEW messages AS SELECT
    seq, id, queue, task,
    CASE state WHEN 0 THEN 'ready' WHEN 1 THEN 'leased' WHEN 2 THEN 'delayed' WHEN 3 THEN 'completed'
               WHEN 4 THEN 'dead' ELSE 'cancelled' END AS state,
    priority, uniqueness AS "unique", deliveries, attempts, crashes, lost, sent_at, finished_at,
    CAST(reason AS TEXT) AS reason, CAST(envelope AS TEXT) AS envelope
FROM message;

CREATE TABLE pause (queue TEXT PRIMARY KEY, at REAL NOT NULL, by TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE tick (schedule TEXT PRIMARY KEY, at REAL NOT NULL, tick BLOB NOT NULL) WITHOUT ROWID;
-- how many leased messages were ever cancelled
INSERT INTO meta VALUES ('cancels', 0);
"""

_THIRD = """
CREATE TABLE sample (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    queue TEXT NOT NULL,
    task TEXT NOT NULL,
    at REAL NOT NULL,
    sample BLOB NOT NULL
);
CREATE INDEX sample_task ON sample (queue, task, seq);

-- Who does something that one is enough for, and until when.
CREATE TABLE turn (name TEXT PRIMARY KEY, token TEXT NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
"""

_FOURTH = """
-- Whether the holder joined the roster before it leased. Older versions, which do not say it, lent to workers alone.
ALTER TABLE loan ADD COLUMN has_presence INTEGER NOT NULL DEFAULT 1;
"""

_FIFTH = """
-- What becomes due next, in any queue. Only delayed messages are in it.
CREATE INDEX message_due ON message (moment) WHERE state = 2;

-- Wall time of the loan. NULL: it was made by an older version.
ALTER TABLE loan ADD COLUMN leased_at REAL;
-- What a holder said with its last touch, where it said anything: valid while the message is leased under this fence.
CREATE TABLE beat (
    seq INTEGER PRIMARY KEY,
    fence INTEGER NOT NULL,
    seconds REAL,
    size REAL,
    predicted_seconds REAL
);

-- The queues there are. `moment`: when something was last seen in it or sent to it, to the minute
CREATE TABLE queue (name TEXT PRIMARY KEY, moment INTEGER NOT NULL) WITHOUT ROWID;

-- Which messages the events from place first_seq to last_seq are about: 4 bytes for each id (journal_ids.py)
CREATE TABLE journal_ids (first_seq INTEGER PRIMARY KEY, last_seq INTEGER NOT NULL, marks BLOB NOT NULL);

CREATE TABLE tally (
    step INTEGER NOT NULL,
    bucket INTEGER NOT NULL,
    nonce TEXT NOT NULL,
    number INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (step, bucket, nonce, number)
) WITHOUT ROWID;

CREATE TABLE act (seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, act BLOB NOT NULL);
"""

_SIXTH = """
-- What operators tell workers besides pauses (Board.post). post: as JSON (rules/post_row.py)
CREATE TABLE post (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    -- wall time; NULL: until it is withdrawn
    until REAL,
    post TEXT NOT NULL,
    PRIMARY KEY (kind, name)
) WITHOUT ROWID;

-- Small documents, such as access tokens
CREATE TABLE key_value (
    kind TEXT NOT NULL,
    name TEXT NOT NULL,
    data BLOB NOT NULL,
    version TEXT NOT NULL,
    -- wall time; NULL: never
    expires_at REAL,
    PRIMARY KEY (kind, name)
);
CREATE INDEX key_value_expires ON key_value (expires_at) WHERE expires_at IS NOT NULL;
"""

_SEVENTH = """
-- What a message asks to be told when it ends (announcing.py)
ALTER TABLE note ADD COLUMN announce BLOB;

-- Ends that wait to be announced. is_large: the result is in the record of the message alone, so that has to stay
CREATE TABLE announcement (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    is_large INTEGER NOT NULL,
    data BLOB NOT NULL
);
CREATE INDEX announcement_large ON announcement (id) WHERE is_large;

-- Tokens of queues whose starts are limited (rules/limits.py), and when they were counted
CREATE TABLE bucket (queue TEXT PRIMARY KEY, tokens REAL NOT NULL, moment INTEGER NOT NULL) WITHOUT ROWID;
"""

_EIGHTH = """
-- What a message asks to be told when it ends, until that was announced (announcing.py)
ALTER TABLE message ADD COLUMN announce BLOB;
UPDATE message SET announce = (
    SELECT CAST(json_array(
        coalesce(json_extract(asked, '$.generation'), 0), json(json_extract(asked, '$.request.targets')),
        json_extract(asked, '$.request.client'), json_extract(asked, '$.request.correlation_id')) AS BLOB)
    FROM (SELECT CAST(note.announce AS TEXT) AS asked FROM note WHERE note.seq = message.seq))
WHERE state < 3 AND seq IN (
    SELECT seq FROM note
    WHERE announce IS NOT NULL AND coalesce(json_extract(CAST(announce AS TEXT), '$.is_announced'), 0) = 0);
ALTER TABLE note DROP COLUMN announce;
CREATE INDEX message_announced ON message (moment) WHERE announce IS NOT NULL AND state >= 3;

DROP INDEX announcement_large;
-- Store time of the end
ALTER TABLE announcement ADD COLUMN moment INTEGER NOT NULL DEFAULT 0;
ALTER TABLE announcement ADD COLUMN generation INTEGER NOT NULL DEFAULT 0;
UPDATE announcement SET generation = coalesce(json_extract(CAST(data AS TEXT), '$.generation'), 0);
CREATE INDEX announcement_id ON announcement (id, generation);
CREATE INDEX announcement_moment ON announcement (moment);
"""

#: Entry n turns version n into version n + 1. Entries are only ever added.
MIGRATIONS: tuple[str, ...] = (_FIRST, _SECOND, _THIRD, _FOURTH, _FIFTH, _SIXTH, _SEVENTH, _EIGHTH)


def check_library() -> None:
    """Refuse an SQLite library that lacks what the statements need."""
    if sqlite3.sqlite_version_info < OLDEST_LIBRARY:
        needed = ".".join(map(str, OLDEST_LIBRARY))
        msg = (
            f"this Python is linked with SQLite {sqlite3.sqlite_version}, and Tenure needs {needed} or newer; "
            "nothing was opened. Use a newer Python build, or another broker"
        )
        raise StoreDamaged(msg)


def check_owner(db: sqlite3.Connection, path: str, migrations: tuple[str, ...] = MIGRATIONS) -> int:
    """The version of the file. Refuses a newer one, and other programs' files, without changing a byte."""
    application, version, has_tables = _look(db)
    if application != APPLICATION_ID and (application or version or has_tables):
        msg = f"{path} is an SQLite database of another program; it was not changed. Give Tenure a file of its own"
        raise StoreForeign(msg)
    if version > len(migrations):
        msg = (
            f"{path} was written by a newer Tenure (schema {version}, this one reads up to {len(migrations)}); "
            "it was not changed. Upgrade this Tenure"
        )
        raise SchemaTooNew(msg)
    return version


def migrate(db: sqlite3.Connection, path: str, migrations: tuple[str, ...] = MIGRATIONS) -> None:
    """Bring the file to the newest version, all or nothing. Safe when several processes do it at once."""
    if check_owner(db, path, migrations) == len(migrations):
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        # Read again under the lock: another process may have been faster.
        for script in migrations[check_owner(db, path, migrations) :]:
            for statement in _statements(script):
                db.execute(statement)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {len(migrations)}")
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def _look(db: sqlite3.Connection) -> tuple[int, int, bool]:
    """Application id, version, and whether there are tables: all of the same moment, as others may be opening it."""
    statement = (
        "SELECT application_id, user_version, EXISTS (SELECT 1 FROM sqlite_master)"
        " FROM pragma_application_id, pragma_user_version"
    )
    application, version, has_tables = db.execute(statement).fetchone()
    return application, version, bool(has_tables)


def _statements(script: str) -> list[str]:
    """`executescript` would commit what is open, so the script is taken apart here."""
    return [statement for statement in script.split(";\n") if statement.strip()]
