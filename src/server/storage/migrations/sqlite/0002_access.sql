-- `id` is a digest of the session cookie. `data` has the user, the authentication method and the
-- absolute expiry of the session. Times here and below are milliseconds since 1970.
CREATE TABLE session (
    id TEXT NOT NULL PRIMARY KEY,
    username TEXT NOT NULL,
    data TEXT NOT NULL,
    expires_at INTEGER NOT NULL
);

CREATE INDEX session_username ON session (username);

-- Failed attempts of an account, a network or both, and networks known for an account. `name` is
-- derived with a key that is not in the database.
CREATE TABLE sign_in_attempt (
    name TEXT NOT NULL PRIMARY KEY,
    failures INTEGER NOT NULL,
    last_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
);

-- One row for each acquire with an Idempotency-Key. `claimed_by` is the console that executes it.
-- `scope` and `request` are digests. `response` is encrypted with a key that only the client has.
-- `response_seq` is ascending.
CREATE TABLE idempotency_record (
    scope TEXT NOT NULL PRIMARY KEY,
    request TEXT NOT NULL,
    claimed_by TEXT NOT NULL,
    response BLOB,
    response_seq INTEGER,
    expires_at INTEGER NOT NULL
);

CREATE INDEX idempotency_record_response_seq ON idempotency_record (response_seq);
