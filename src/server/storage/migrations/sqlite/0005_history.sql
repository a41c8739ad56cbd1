-- What happened to locks and nodes. Times are Unix milliseconds; other words are numbers, in the
-- order of `server/history/codes.rs`.

CREATE TABLE history_group (
    id INTEGER NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE
);

-- `format` is the latest one.
CREATE TABLE history_lock (
    id INTEGER NOT NULL PRIMARY KEY,
    group_id INTEGER NOT NULL,
    lock_key BLOB NOT NULL,
    format TEXT NOT NULL,
    UNIQUE (group_id, lock_key)
);

-- Ended holds, in the order of their ends. `owner` is the fingerprint. `span` is the class of the
-- duration: a query for a range of time reads each class from the start of the range minus the
-- longest duration of the class.
CREATE TABLE history_hold (
    id INTEGER NOT NULL PRIMARY KEY,
    lock_id INTEGER NOT NULL,
    group_id INTEGER NOT NULL,
    span INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    label TEXT,
    started_at INTEGER NOT NULL,
    start_source INTEGER NOT NULL,
    uncertainty_ms INTEGER,
    ended_at INTEGER NOT NULL,
    end_reason INTEGER NOT NULL,
    renewals INTEGER NOT NULL,
    min_margin_ms INTEGER,
    attempts INTEGER
);

CREATE INDEX history_hold_lock ON history_hold (lock_id, span, started_at);
CREATE INDEX history_hold_group ON history_hold (group_id, span, started_at);

-- Holds that have not ended.
CREATE TABLE history_open_hold (
    lock_id INTEGER NOT NULL,
    owner INTEGER NOT NULL,
    group_id INTEGER NOT NULL,
    label TEXT,
    started_at INTEGER NOT NULL,
    start_source INTEGER NOT NULL,
    uncertainty_ms INTEGER,
    expires_at INTEGER,
    renewals INTEGER NOT NULL,
    min_margin_ms INTEGER,
    attempts INTEGER,
    PRIMARY KEY (lock_id, owner)
);

CREATE INDEX history_open_hold_group ON history_open_hold (group_id, started_at);

-- Periods in which a lock had a flag; `ended_at` is null while it lasts.
CREATE TABLE history_flag (
    id INTEGER NOT NULL PRIMARY KEY,
    lock_id INTEGER NOT NULL,
    group_id INTEGER NOT NULL,
    flag INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER
);

CREATE INDEX history_flag_lock ON history_flag (lock_id, started_at);
CREATE INDEX history_flag_group ON history_flag (group_id, started_at);
CREATE INDEX history_flag_end ON history_flag (ended_at);
CREATE INDEX history_flag_open ON history_flag (lock_id, flag) WHERE ended_at IS NULL;

-- Periods in which a node was not up; `ended_at` is null while it lasts.
CREATE TABLE history_outage (
    id INTEGER NOT NULL PRIMARY KEY,
    group_id INTEGER NOT NULL,
    node TEXT NOT NULL,
    state INTEGER NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER
);

CREATE INDEX history_outage_group ON history_outage (group_id, started_at);

-- Stretches of time that were not recorded.
CREATE TABLE history_gap (
    id INTEGER NOT NULL PRIMARY KEY,
    started_at INTEGER NOT NULL,
    ended_at INTEGER NOT NULL,
    cause INTEGER NOT NULL
);

CREATE INDEX history_gap_end ON history_gap (ended_at);

-- One row: the console that records, until when it may, and from when until when everything is
-- recorded.
CREATE TABLE history_mark (
    id INTEGER NOT NULL PRIMARY KEY,
    writer TEXT NOT NULL,
    lease_until INTEGER NOT NULL,
    recorded_since INTEGER NOT NULL,
    recorded_until INTEGER NOT NULL
);

-- What was counted per group in intervals of `step_ms`.
CREATE TABLE history_counter (
    group_id INTEGER NOT NULL,
    step_ms INTEGER NOT NULL,
    at INTEGER NOT NULL,
    max_held INTEGER NOT NULL,
    attempts INTEGER,
    slowest_us INTEGER,
    PRIMARY KEY (group_id, step_ms, at)
);
