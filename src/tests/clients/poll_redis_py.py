"""Tries to acquire a lock with redis-py until the process is stopped. Each failed attempt reads the key.

Arguments: port of the server, lock, seconds between two attempts.
"""

import sys

import redis

port, key, pause = sys.argv[1:]
client = redis.Redis(port=int(port))
while True:
    lock = client.lock(key, timeout=10, sleep=float(pause))
    if lock.acquire(blocking_timeout=60):
        lock.release()
