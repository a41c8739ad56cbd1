-- A running process. It increases `heartbeat` every few seconds; an instance whose heartbeat stops
-- was killed.
CREATE TABLE instance (
    id TEXT NOT NULL PRIMARY KEY,
    heartbeat BIGINT NOT NULL
);

-- `line` is the entry in its export format, with its sequence number, the hash of the previous
-- entry and its own hash. The other columns are for searching. `id` connects the start and the end
-- of an operation. `state`: 0 = start with a written end, 1 = start without an end, 2 = end.
-- Entries imported after others were written have sequence numbers below 1.
CREATE TABLE audit_entry (
    seq BIGINT NOT NULL PRIMARY KEY,
    id TEXT NOT NULL,
    state BIGINT NOT NULL,
    action TEXT NOT NULL,
    group_name TEXT,
    lock_key BYTEA,
    actor TEXT NOT NULL,
    address TEXT,
    started_at BIGINT NOT NULL,
    result TEXT,
    line TEXT NOT NULL
);

CREATE INDEX audit_entry_lock ON audit_entry (lock_key, seq) WHERE lock_key IS NOT NULL;
CREATE INDEX audit_entry_open ON audit_entry (id) WHERE state = 1;
