"""Holds and waits for locks with kazoo: `kazoo_client.py SERVERS`.

Reads one command per line from stdin and prints one line per result:

    lock|read|write|semaphore|persistent PATH IDENTIFIER     in a thread; prints "held IDENTIFIER" once it has the lock
    release IDENTIFIER                                       prints "released IDENTIFIER"
    set PATH DATA                                            creates a node or replaces its data; prints "set PATH"
    ephemeral PATH DATA                                      creates an ephemeral node; prints "created PATH"
    deny PATH                                                only this user may read it; prints "denied PATH"

All clients of one process share a session unless the IDENTIFIER begins with "own:".
"""

import sys
import threading

from kazoo.client import KazooClient
from kazoo.security import make_digest_acl

servers = sys.argv[1]
printing = threading.Lock()
held = {}


def report(text):
    with printing:
        print(text, flush=True)


def client():
    started = KazooClient(hosts=servers, timeout=10)
    started.start(timeout=30)
    return started


shared = client()


def acquire(kind, path, identifier):
    session = client() if identifier.startswith("own:") else shared
    lock = {
        "lock": lambda: session.Lock(path, identifier),
        "persistent": lambda: session.Lock(path, identifier),
        "read": lambda: session.ReadLock(path, identifier),
        "write": lambda: session.WriteLock(path, identifier),
        "semaphore": lambda: session.Semaphore(path, identifier, max_leases=2),
    }[kind]()
    held[identifier] = lock
    if kind == "persistent":
        lock.acquire(ephemeral=False)
    else:
        lock.acquire()
    report(f"held {identifier}")


report("ready")
for line in sys.stdin:
    command, *arguments = line.split()
    if command == "release":
        held[arguments[0]].release()
        report(f"released {arguments[0]}")
    elif command == "set":
        path, data = arguments
        if shared.exists(path):
            shared.set(path, data.encode())
        else:
            shared.create(path, data.encode(), makepath=True)
        report(f"set {path}")
    elif command == "ephemeral":
        path, data = arguments
        shared.create(path, data.encode(), ephemeral=True, makepath=True)
        report(f"created {path}")
    elif command == "deny":
        shared.ensure_path(arguments[0])
        shared.set_acls(arguments[0], [make_digest_acl("owner", "secret", all=True)])
        report(f"denied {arguments[0]}")
    else:
        threading.Thread(target=acquire, args=(command, *arguments), daemon=True).start()
