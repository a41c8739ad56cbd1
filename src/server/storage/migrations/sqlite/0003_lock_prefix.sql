-- The prefixes under which locks were found, and what an admin decided about them. `formats` is a
-- list separated by commas. `changed_by` and `changed_at` are those of `state` and `name`.
CREATE TABLE lock_prefix (
    group_name TEXT NOT NULL,
    prefix BLOB NOT NULL,
    state TEXT NOT NULL,
    name TEXT,
    source TEXT NOT NULL,
    locks INTEGER NOT NULL,
    others INTEGER NOT NULL,
    formats TEXT NOT NULL,
    first_seen_at INTEGER,
    last_seen_at INTEGER,
    changed_by TEXT,
    changed_at INTEGER,
    PRIMARY KEY (group_name, prefix)
);
