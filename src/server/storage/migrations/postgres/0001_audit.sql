-- A running program; it raises `beat` every few seconds. One whose beat stands still was killed.
CREATE TABLE instance (
    id TEXT NOT NULL PRIMARY KEY,
    beat BIGINT NOT NULL
);

-- `line` is the entry as it is exported, with its number, the hash of the entry before and its own; the other columns are for
-- searching. `id` is what beginning and end of an operation have in common. `state`: 0 a beginning whose end was written, 1 a
-- beginning without an end, 2 an end. Entries that were imported after others had been written have numbers below 1.
CREATE TABLE audit_entry (
    number BIGINT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL,
    state BIGINT NOT NULL,
    operation TEXT NOT NULL,
    group_name TEXT,
    lock_key BYTEA,
    principal TEXT NOT NULL,
    address TEXT,
    began_at BIGINT NOT NULL,
    outcome TEXT,
    line TEXT NOT NULL
);

CREATE INDEX audit_entry_lock ON audit_entry (lock_key, number) WHERE lock_key IS NOT NULL;
CREATE INDEX audit_entry_open ON audit_entry (id) WHERE state = 1;
