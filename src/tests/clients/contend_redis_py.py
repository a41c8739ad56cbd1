"""Acquires and releases a lock repeatedly with redis-py, and records each hold at the observer (src/tests/support/section_observer.rs).

Arguments: port of the server, port of the observer, lock, name of this client, number of rounds.
"""

import random
import sys
import time

import redis

port, observer_port, key, name, rounds = sys.argv[1:]
client = redis.Redis(port=int(port))
observer = redis.Redis(port=int(observer_port), decode_responses=True)

observer.rpush("ready", name)
observer.blpop("go", 60)
for _ in range(int(rounds)):
    lock = client.lock(key, timeout=10, sleep=0.01)
    assert lock.acquire()
    if observer.rpush("inside", name) > 1:
        observer.rpush("overlaps", " ".join(observer.lrange("inside", 0, -1)))
    time.sleep(random.uniform(0, 0.002))
    observer.lrem("inside", 0, name)
    observer.rpush("turns", name)
    lock.release()
    time.sleep(random.uniform(0, 0.01))
