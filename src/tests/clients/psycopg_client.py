"""Locks with psycopg: `psycopg_client.py URL`.

Reads one command per line from stdin and prints one line per result:

    session NAME NUMBER        pg_advisory_lock on a new connection; prints "held NAME"
    transaction NAME NUMBER    pg_advisory_xact_lock in a new transaction; prints "held NAME"
    pair NAME FIRST SECOND     pg_try_advisory_lock_shared with two numbers; prints "held NAME" or "busy NAME"
    unlock NAME NUMBER         pg_advisory_unlock on the connection; prints "unlocked NAME" or "not held NAME"
    commit NAME                ends the transaction; prints "committed NAME"

Each NAME has a connection of its own, whose application name it is. An acquire waits in a thread; prints
"lost NAME" if the connection ends.
"""

import sys
import threading

import psycopg

url = sys.argv[1]
printing = threading.Lock()
connections = {}


def report(text):
    with printing:
        print(text, flush=True)


def connect(name, autocommit):
    connections[name] = psycopg.connect(url, application_name=name, autocommit=autocommit)
    return connections[name]


def acquire(kind, name, *numbers):
    numbers = [int(number) for number in numbers]
    try:
        if kind == "session":
            connect(name, autocommit=True).execute("SELECT pg_advisory_lock(%s)", numbers)
        elif kind == "transaction":
            connect(name, autocommit=False).execute("SELECT pg_advisory_xact_lock(%s)", numbers)
        else:
            row = connect(name, autocommit=True).execute("SELECT pg_try_advisory_lock_shared(%s::int, %s::int)", numbers).fetchone()
            return report(f"held {name}" if row[0] else f"busy {name}")
        report(f"held {name}")
    except psycopg.OperationalError:
        report(f"lost {name}")


report("ready")
for line in sys.stdin:
    command, name, *arguments = line.split()
    try:
        if command == "unlock":
            row = connections[name].execute("SELECT pg_advisory_unlock(%s)", [int(arguments[0])]).fetchone()
            report(f"unlocked {name}" if row[0] else f"not held {name}")
        elif command == "commit":
            connections[name].commit()
            report(f"committed {name}")
        else:
            threading.Thread(target=acquire, args=(command, name, *arguments), daemon=True).start()
    except psycopg.OperationalError:
        report(f"lost {name}")
