"""Waits for a lock with python-redis-lock and prints when it waits and when it holds the lock. Arguments: port of the server, lock."""

import sys

import redis
import redis_lock

port, name = int(sys.argv[1]), sys.argv[2]
lock = redis_lock.Lock(redis.Redis(port=port), name, expire=None)
assert not lock.acquire(blocking=False)
print("waits", flush=True)
assert lock.acquire()
print("has it", flush=True)
