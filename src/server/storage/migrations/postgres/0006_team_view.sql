-- Views of the lock list that all users share. `path` is the path and query of the page.
CREATE TABLE team_view (
    name TEXT NOT NULL PRIMARY KEY,
    path TEXT NOT NULL,
    saved_by TEXT NOT NULL,
    saved_at BIGINT NOT NULL
);
