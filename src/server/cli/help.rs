//! What `--help` says below the options: examples first, then exit statuses.

pub const TOP: &str = "\
Exit statuses:
  0    done
  1    it failed: no quorum, nodes that cannot be reached, an internal fault; not fit (check)
  2    the command line, the configuration or a value cannot be used
  3    the lock is not held (extend, release, force-release)
  4    the token is not the owner's (extend, release)
  5    the owner is another by now (force-release)
  6    the lock is not observed on any node (show)
  7    the release reached too few nodes: its owner may hold a quorum still (release, force-release)
  75   the lock is held by somebody else (acquire, run)
  76   the lock was lost while the command ran (run)
  126, 127, 128+N, or the command's own (run)

Without --config and --redis, lockkeeper.toml in the working folder, then in the user's and the
system's configuration folder is read; without any, redis://127.0.0.1:6379 is meant.";

pub const SERVE: &str = "\
Examples:
  lockkeeper serve --redis redis://127.0.0.1:6379
  lockkeeper serve --redis redis://10.0.0.1 --redis redis://10.0.0.2 --redis redis://10.0.0.3
  lockkeeper serve --config lockkeeper.toml --listen 127.0.0.1:8080

Without --config and --redis, lockkeeper.toml in the working folder, then in the user's and the
system's configuration folder is read; without any, redis://127.0.0.1:6379 is watched.

Without a [[user]], a [[token]], a trusted_header or a [sign_in.oidc] nobody has to sign in; then only a
loopback address is listened on. Where somebody is named, HUP has it read again who may come in.";

pub const LIST: &str = "\
Examples:
  lockkeeper list                                    # every lock of every group, the worst first
  lockkeeper list --group orders --verdict split     # two owners at once
  lockkeeper list --flag no-expiry --json | jq -r '.locks[].key'
  lockkeeper list --owner api-3 --sort lease

Each node is gone over once, with bounded SCANs in pauses. Which nodes were, and which could not
be asked, is said on standard error, and in JSON as \"groups\" and \"complete\".

Exit status: 0 if no held lock can be missing, 1 if so many nodes could not be gone over that some
may be, 2 for a command line or configuration that cannot be used.";

pub const SHOW: &str = "\
Examples:
  lockkeeper show orders lock:payout/eu
  lockkeeper show orders lock:payout/eu --json | jq -r .owner.fingerprint
  lockkeeper show orders --key-encoded 'lock%00%FF'

Exit status: 0 it is there, 6 not observed on any node, 1 too few nodes can be asked to tell, 2 for
a command line or configuration that cannot be used.";

pub const CHECK: &str = "\
Examples:
  lockkeeper check                                   # the configuration that serve would read
  lockkeeper check --redis redis://10.0.0.1 --redis redis://10.0.0.2 --redis redis://10.0.0.3
  lockkeeper check --json | jq -r '.groups[].findings[] | select(.severity == \"error\") | .code'
  lockkeeper check --fields                          # what can stand in the configuration file

Nodes are asked about persistence, replication, memory, clocks and permissions, and gone over once
for locks and their leases. Nothing is changed. What may not be asked is told as unchecked. A clock
that jumps, and leases that are renewed, only a console sees (`serve`, the page /nodes).

Exit status: 0 every group is fit (warnings and notes there may be), 1 there is an error, 2 for a
command line or configuration that cannot be used.";

pub const VOUCH: &str = "\
Examples:
  lockkeeper vouch orders b --reason 'restored from its append-only file'
  lockkeeper vouch orders b --reason 'nobody used the group' --confirm b     # production

A node that restarted without having kept every write, or that is new in a Redlock group, takes no
new locks until the last lock that it may lack has ended. If it lost none, vouch for it. That is noted
in the state directory: a console that uses the same one, and commands, take it over at once, until the
server restarts again. For a console elsewhere use its page /nodes or its API.

Exit status: 0 done, 1 it cannot be noted, 2 for a command line or configuration that cannot be used, a
node that is not in the group or cannot be reached, or a confirmation that is missing.";

pub const ACQUIRE: &str = "\
Examples:
  lockkeeper acquire jobs nightly-report --ttl 5m
  lockkeeper acquire jobs nightly-report --ttl 5m --wait 1m --label deploy --token-file nightly.token
  lockkeeper release jobs nightly-report --token-file nightly.token

  token=$(lockkeeper acquire jobs deploy --ttl 10m --json | jq -r .token)
  LOCKKEEPER_TOKEN=$token lockkeeper release jobs deploy

Nothing renews the lock: it ends with its lease unless `extend` is called in time. To hold a lock
while a command runs, use `run`.

Exit status: 0 taken, 75 held by somebody else (also after waiting), 1 too few nodes took part, 2
for a command line or configuration that cannot be used, 128+N ended by signal N; nothing is left
behind.";

pub const EXTEND: &str = "\
Examples:
  lockkeeper extend jobs nightly-report --ttl 5m --token-file nightly.token
  LOCKKEEPER_TOKEN=$token lockkeeper extend jobs nightly-report --ttl 5m
  vault read -field=token secret/nightly | lockkeeper extend jobs nightly-report --ttl 5m --token-file -

The token is never an argument, because everybody on the machine can read those.

Exit status: 0 extended, 3 not held any more, 4 held by somebody else, 1 too few nodes took part, 2
for a command line or configuration that cannot be used.";

pub const RELEASE: &str = "\
Examples:
  lockkeeper release jobs nightly-report --token-file nightly.token
  LOCKKEEPER_TOKEN=$token lockkeeper release jobs nightly-report

The token is never an argument, because everybody on the machine can read those.

Exit status: 0 released, 3 not held any more, 4 held by somebody else (nothing of theirs
was touched), 7 released on too few nodes (run it again when the others are back), 1 too few nodes
took part, 2 for a command line or configuration that cannot be used.";

pub const FORCE_RELEASE: &str = "\
Examples:
  lockkeeper show orders lock:payout/eu              # says who holds it, with the fingerprint
  lockkeeper force-release orders lock:payout/eu --fingerprint d3c19a0b77e04fd2 --reason 'host is gone'
  lockkeeper force-release orders lock:payout/eu --fingerprint d3c19a0b77e04fd2 --reason 'host is gone' \\
      --confirm lock:payout/eu                       # where the group's environment is production
  lockkeeper show orders lock:payout/eu --json > seen.json                     # look first, then decide
  lockkeeper force-release orders lock:payout/eu --fingerprint d3c19a0b77e04fd2 --reason 'host is gone' \\
      --seen seen.json                               # refused if that owner has acquired it anew since

On every node the owner is compared byte for byte and released only if it is the one you saw. This
does not stop the process that believes it holds the lock.

Exit status: 0 released, 3 not held any more, 5 another owner by now (nothing was touched), 7
released on too few nodes: that owner may hold a quorum still (run it again when the others are
back), 1 too few nodes took part, 2 for a command line or configuration that cannot be used.";

pub const FORCE_RELEASES: &str = "\
Examples:
  lockkeeper list --json | jq '[.locks[] | select(.owner.label == \"api-3\")
    | {group, key, key_encoded, fingerprint: .owner.fingerprint}]' > theirs.json
  lockkeeper force-releases --from theirs.json --dry-run --reason 'api-3 is gone'
  lockkeeper force-releases --from theirs.json --reason 'api-3 is gone'

Each lock is released exactly as by force-release: its owner is compared on every node, and a lock
whose owner changed is left alone. Where a name has to be typed, the item has it as \"confirm\"; what
was seen of the hold may stand there as \"seen\": {\"expires_at\", \"holds\"}.

Exit status: 0 all were released (or would be), 1 some were not, 2 for a command line, a file or
configuration that cannot be used.";

pub const RUN: &str = "\
Examples:
  lockkeeper run jobs nightly-report -- /usr/local/bin/nightly-report --all
  lockkeeper run jobs nightly-report --ttl 1m --wait 10m -- sh -c 'make report && make send'
  */5 * * * * lockkeeper run jobs sync --ttl 30s -- /usr/local/bin/sync    # cron on ten machines, one runs

The lock is renewed at a third of its lease and released when the command has ended. The command
gets LOCKKEEPER_KEY, LOCKKEEPER_TOKEN and LOCKKEEPER_FENCING_TOKEN in its environment; hand the
fencing token to whatever it writes to, which can then refuse a command that was stopped too late.

When the lock is lost, the command and all it started get TERM, and KILL after --kill-after. If the
nodes say that the lock is gone, that is at once. If they cannot be asked, TERM comes --kill-after
(at most a third of --ttl) before the validity ends, and KILL no later than its end: until then
nobody else can have the lock.

INT, TERM, HUP and QUIT are passed on to the command and all it started, USR1 and USR2 to the
command alone. What the command leaves running in the background is ended before the lock is
released; what is to stay has to start a session of its own (setsid). If lockkeeper itself is
killed, the command and all it started are killed, too. While it is stopped (Ctrl-Z), nothing is
renewed: continued after the lease is over, the command is ended without one more step.

Exit status: the command's own; 128+N if signal N ended it; 75 the lock was not obtained in time;
76 it was lost; 127 there is no such command, 126 it cannot be executed; 1 too few nodes took part;
2 for a command line or configuration that cannot be used.";

pub const AUDIT_VERIFY: &str = "\
Examples:
  lockkeeper audit verify
  lockkeeper audit verify --json
  lockkeeper audit verify --head 5b7e…      also finds entries that were cut off at the end since that head was noted

Each entry carries the hash of the one before. Who can write the storage can write another chain: note the head elsewhere
from time to time.

Exit status: 0 it is as it was written; 1 it is not; 2 it cannot be read.";

pub const HASH_PASSWORD: &str = "\
Examples:
  lockkeeper hash-password                           # asks twice, shows nothing of what is typed
  pass show lockkeeper | lockkeeper hash-password    # the first line of standard input

Put what it prints into the configuration, and start the console again:
  [[user]]
  name = \"alice\"
  role = \"operator\"
  password_hash = \"$argon2id$...\"";

pub const TOKEN: &str = "\
Examples:
  lockkeeper token deploy --role operator --group jobs --keys 'lock:deploy:*' --expires 2027-06-30
  lockkeeper token prometheus --role viewer --token-file prometheus.token >> lockkeeper.toml

Prints the [[token]] for the configuration, which has only the token's hash, on standard output, and
the token itself, which is kept nowhere, on standard error. A program sends it as `Authorization: Bearer lk_...`.";

pub const COMPLETIONS: &str = "\
Examples:
  lockkeeper completions bash > /etc/bash_completion.d/lockkeeper
  lockkeeper completions zsh > \"${fpath[1]}/_lockkeeper\"
  lockkeeper completions fish > ~/.config/fish/completions/lockkeeper.fish";

pub const MAN: &str = "\
Examples:
  lockkeeper man | man -l -
  lockkeeper man --into /usr/local/share/man/man1";
