//! The text after the options in `--help`: examples, notes and exit statuses.

pub const TOP: &str = "\
Exit statuses:
  0    success
  1    failure: no quorum, unreachable nodes, or an internal error; not fit for locking (check)
  2    invalid command line, configuration or value
  3    the lock is not held (extend, release, force-release)
  4    the token does not match the owner (extend, release)
  5    the lock has another owner now (force-release)
  6    the lock is not observed on any node (show)
  7    the release reached too few nodes; the owner may still hold a quorum (release, force-release)
  75   another owner holds the lock (acquire, run)
  76   the lock was lost while the command ran (run)
  126, 127, 128+N, or the exit status of the command (run)

Without --config and --redis, lockkeeper.toml is read from the working directory, the user's or the
system's configuration directory. Without any of them, the server is redis://127.0.0.1:6379.";

pub const SERVE: &str = "\
Examples:
  lockkeeper serve --redis redis://127.0.0.1:6379
  lockkeeper serve --redis redis://10.0.0.1 --redis redis://10.0.0.2 --redis redis://10.0.0.3
  lockkeeper serve --config lockkeeper.toml --listen 127.0.0.1:8080

Without --config and --redis, lockkeeper.toml is read from the working directory, the user's or the
system's configuration directory. Without any of them, the server is redis://127.0.0.1:6379.

Without a [[user]], a [[token]], an auth_proxy_header or a [sign_in.oidc], no sign-in is required, and the console
listens on a loopback address only. With sign-in, SIGHUP reloads the configuration.";

pub const LIST: &str = "\
Examples:
  lockkeeper list                                    # all locks of all groups, those that need attention first
  lockkeeper list --group orders --verdict split     # two owners at once
  lockkeeper list --flag no-expiry --json | jq -r '.locks[].key'
  lockkeeper list --owner api-3 --sort lease

Scans each node once, in small batches. Scanned and unreachable nodes are listed on standard error,
and in JSON as \"groups\" and \"complete\".

Exit status: 0 the list contains every held lock, 1 held locks may be missing because too few nodes
could be scanned, 2 invalid command line or configuration.";

pub const SHOW: &str = "\
Examples:
  lockkeeper show orders lock:payout/eu
  lockkeeper show orders lock:payout/eu --json | jq -r .owner.fingerprint
  lockkeeper show orders --key-encoded 'lock%00%FF'

Exit status: 0 the lock exists, 6 not observed on any node, 1 too few nodes are reachable to decide,
2 invalid command line or configuration.";

pub const HISTORY: &str = "\
Examples:
  lockkeeper history                                 # the last hour in all groups
  lockkeeper history orders lock:payout/eu --from 24h
  lockkeeper history orders --from 2026-11-20T03:00:00Z --to 2026-11-20T03:15:00Z --csv
  lockkeeper history --q invoice --json | jq -r '.holds[].key'

Reads the database of [storage], also while the console does not run. Stretches of time that were
not recorded are listed after the holds, and in JSON as \"gaps\".

Exit status: 0 the history was read, 1 the database cannot be read, 2 invalid command line or
configuration, or nothing has been recorded yet.";

pub const CHECK: &str = "\
Examples:
  lockkeeper check                                   # the configuration that serve would read
  lockkeeper check --redis redis://10.0.0.1 --redis redis://10.0.0.2 --redis redis://10.0.0.3
  lockkeeper check --json | jq -r '.groups[].findings[] | select(.severity == \"error\") | .code'

Checks persistence, replication, memory, clocks and permissions of each node, and scans it once for
locks and their leases. Nothing is changed. Checks for which a permission is missing are listed as
unchecked. Clock steps and renewals are only detected by a running console (`serve`, page /nodes).

Exit status: 0 every group is fit for locking (possibly with warnings and notes), 1 at least one
error, 2 invalid command line or configuration.";

pub const CLEAR_RESTART_HAZARD: &str = "\
Examples:
  lockkeeper clear-restart-hazard orders b --reason 'restored from its append-only file'
  lockkeeper clear-restart-hazard orders b --reason 'no locks were held' --confirm b        # production

A node that restarted without persisting every write, or that is new in a Redlock group, is excluded
from new acquires until the last lock that it may lack has expired. If it lost no locks, this command
clears the restart hazard.
The result is stored in the state directory and applies to commands and to a console with the same
state directory at once, until the server restarts again. For other consoles, use the page /nodes or
the API.

Exit status: 0 success, 1 the state directory is not writable, 2 invalid command line or
configuration, unknown or unreachable node, or missing confirmation.";

pub const ACQUIRE: &str = "\
Examples:
  lockkeeper acquire jobs nightly-report --ttl 5m
  lockkeeper acquire jobs nightly-report --ttl 5m --wait 1m --label deploy --token-file nightly.token
  lockkeeper release jobs nightly-report --token-file nightly.token

  token=$(lockkeeper acquire jobs deploy --ttl 10m --json | jq -r .token)
  LOCKKEEPER_TOKEN=$token lockkeeper release jobs deploy

The lock is not renewed automatically: it expires with its lease unless `extend` is called in time.
To hold a lock while a command runs, use `run`.

Exit status: 0 acquired, 75 another owner holds the lock (also after --wait), 1 no quorum, 2 invalid
command line or configuration, 128+N terminated by signal N. After a failure the lock is not held.";

pub const EXTEND: &str = "\
Examples:
  lockkeeper extend jobs nightly-report --ttl 5m --token-file nightly.token
  LOCKKEEPER_TOKEN=$token lockkeeper extend jobs nightly-report --ttl 5m
  vault read -field=token secret/nightly | lockkeeper extend jobs nightly-report --ttl 5m --token-file -

The token is not accepted as an argument, because other users of the machine can read arguments.

Exit status: 0 extended, 3 no longer held, 4 held by another owner, 1 no quorum, 2 invalid command
line or configuration.";

pub const RELEASE: &str = "\
Examples:
  lockkeeper release jobs nightly-report --token-file nightly.token
  LOCKKEEPER_TOKEN=$token lockkeeper release jobs nightly-report

The token is not accepted as an argument, because other users of the machine can read arguments.

Exit status: 0 released, 3 no longer held, 4 held by another owner (whose lock was not changed), 7
released on too few nodes (run the command again when the other nodes are reachable), 1 no quorum, 2
invalid command line or configuration.";

pub const FORCE_RELEASE: &str = "\
Examples:
  lockkeeper show orders lock:payout/eu              # prints the owner and its fingerprint
  lockkeeper force-release orders lock:payout/eu --fingerprint d3c19a0b77e04fd2 --reason 'host is gone'
  lockkeeper force-release orders lock:payout/eu --fingerprint d3c19a0b77e04fd2 --reason 'host is gone' \\
      --confirm lock:payout/eu                       # where the group's environment is production
  lockkeeper show orders lock:payout/eu --json > lock.json                     # inspect first, then decide
  lockkeeper force-release orders lock:payout/eu --fingerprint d3c19a0b77e04fd2 --reason 'host is gone' \\
      --if-match lock.json                               # rejected if that owner has acquired it again since

  lockkeeper list --json | jq '[.locks[] | select(.owner.label == \"api-3\")
    | {group, key, key_encoded, fingerprint: .owner.fingerprint}]' > locks.json
  lockkeeper force-release --from locks.json --dry-run --reason 'api-3 is gone'
  lockkeeper force-release --from locks.json --reason 'api-3 is gone'

On every node the owner is compared byte for byte, and the lock is released only if that owner still holds it. This does
not stop the process that believes it holds the lock.

With --from, each lock is released like a single one, and a lock whose owner changed is skipped. An item may have
\"confirm\", if the lock's name is required as confirmation, and \"expected_hold\": {\"expires_at\", \"hold_count\"}, which
corresponds to --if-match. The exit status is 0 if all locks were released (or would be), 1 if some were not.

Exit status: 0 released, 3 no longer held, 5 the lock has another owner now (it was not changed), 7
released on too few nodes, so the owner may still hold a quorum (run the command again when the
other nodes are reachable), 1 no quorum, 2 invalid command line or configuration.";

pub const RUN: &str = "\
Examples:
  lockkeeper run jobs nightly-report -- /usr/local/bin/nightly-report --all
  lockkeeper run jobs nightly-report --ttl 1m --wait 10m -- sh -c 'make report && make send'
  */5 * * * * lockkeeper run jobs sync --ttl 30s -- /usr/local/bin/sync    # cron on ten machines, one runs

The lock is renewed after each third of its lease and released when the command has ended. The
environment of the command contains LOCKKEEPER_KEY, LOCKKEEPER_TOKEN and LOCKKEEPER_FENCING_TOKEN.
Pass the fencing token to the resource, which can then reject writes of a command that lost its lock.

When the lock is lost, the command and its child processes receive TERM, and KILL after --kill-after.
If the nodes report that the lock is gone, TERM is sent at once. If the nodes are unreachable, TERM is
sent --kill-after (at most a third of --ttl) before the validity ends, and KILL when it ends: until
then no other client can acquire the lock.

INT, TERM, HUP and QUIT are forwarded to the command and its child processes, USR1 and USR2 only to
the command. Background processes of the command are terminated before the lock is released, unless
they run in their own session (setsid). If lockkeeper itself is killed, the command and its child
processes are killed too. While lockkeeper is stopped (Ctrl-Z), the lock is not renewed; if it is
continued after the lease expired, the command is killed before it can continue.

Exit status: that of the command; 128+N if signal N terminated it; 75 the lock was not acquired in
time; 76 the lock was lost; 127 command not found; 126 command not executable; 1 no quorum; 2 invalid
command line or configuration.";

pub const AUDIT_VERIFY: &str = "\
Examples:
  lockkeeper audit verify
  lockkeeper audit verify --json
  lockkeeper audit verify --expect-head 5b7e…        # also detects entries removed from the end

Each entry contains the hash of the previous one. An attacker with write access to the storage can rebuild the whole
chain. Record the head hash on another machine regularly, and pass it to --expect-head.

Exit status: 0 the audit log is intact; 1 it was modified; 2 it cannot be read.";

pub const HASH_PASSWORD: &str = "\
Examples:
  lockkeeper hash-password                           # prompts twice, without echo
  pass show lockkeeper | lockkeeper hash-password    # reads the first line of standard input

Copy the hash into the configuration; a running console reloads it:
  [[user]]
  name = \"alice\"
  role = \"operator\"
  password_hash = \"$argon2id$...\"";

pub const CREATE_TOKEN: &str = "\
Examples:
  lockkeeper create-token deploy --role operator --group jobs --keys 'lock:deploy:*' --expires 2027-06-30
  lockkeeper create-token prometheus --role viewer --token-file prometheus.token >> lockkeeper.toml

Prints the [[token]] table for the configuration, with the token's hash, on standard output, and the
token itself, which is stored nowhere, on standard error. Clients send it as `Authorization: Bearer lk_...`.";

pub const COMPLETIONS: &str = "\
Examples:
  lockkeeper completions bash > /etc/bash_completion.d/lockkeeper
  lockkeeper completions zsh > \"${fpath[1]}/_lockkeeper\"
  lockkeeper completions fish > ~/.config/fish/completions/lockkeeper.fish";

pub const MAN: &str = "\
Examples:
  lockkeeper man | man -l -
  lockkeeper man --out-dir /usr/local/share/man/man1";
