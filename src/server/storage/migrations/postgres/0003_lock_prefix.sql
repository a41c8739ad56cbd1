-- The prefixes under which locks were found, and what an admin decided about them. `formats` is a
-- list separated by commas. `changed_by` and `changed_at` are those of `state` and `name`.
CREATE TABLE lock_prefix (
    group_name TEXT NOT NULL,
    prefix BYTEA NOT NULL,
    state TEXT NOT NULL,
    name TEXT,
    source TEXT NOT NULL,
    locks BIGINT NOT NULL,
    others BIGINT NOT NULL,
    formats TEXT NOT NULL,
    first_seen_at BIGINT,
    last_seen_at BIGINT,
    changed_by TEXT,
    changed_at BIGINT,
    PRIMARY KEY (group_name, prefix)
);
