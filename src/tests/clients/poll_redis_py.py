"""Tries to take a lock with redis-py until it is ended: each try that fails touches the key.

Arguments: the server's port, the lock, the pause between two tries in seconds.
"""

import sys

import redis

port, key, pause = sys.argv[1:]
client = redis.Redis(port=int(port))
while True:
    lock = client.lock(key, timeout=10, sleep=float(pause))
    if lock.acquire(blocking_timeout=60):
        lock.release()
