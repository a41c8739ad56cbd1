-- `id` is a digest of what the browser has; `data` says whose session it is, what let them in, and when it ends in any case. Times here
-- and below are milliseconds since 1970.
CREATE TABLE session (
    id TEXT NOT NULL PRIMARY KEY,
    person TEXT NOT NULL,
    data TEXT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX session_person ON session (person);

-- Failed attempts of one account, network or both, and networks that are known for an account. `name` is made with a key that is not
-- in the database.
CREATE TABLE sign_in_attempt (
    name TEXT NOT NULL PRIMARY KEY,
    failures BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

-- An acquire with an Idempotency-Key: claimed by the console that does it, or answered. `scope` and `request` are digests, `answer` is
-- sealed with what only the client has. `answered` counts up.
CREATE TABLE idempotency_record (
    scope TEXT NOT NULL PRIMARY KEY,
    request TEXT NOT NULL,
    claimed_by TEXT NOT NULL,
    answer BYTEA,
    answered BIGINT,
    expires_at BIGINT NOT NULL
);

CREATE INDEX idempotency_record_answered ON idempotency_record (answered);
