"""Takes a lock with redis-py again and again, and shows itself to the witness (src/tests/support/witness.rs).

Arguments: the server's port, the witness's port, the lock, this client's name, how often.
"""

import random
import sys
import time

import redis

port, witness_port, key, name, rounds = sys.argv[1:]
client = redis.Redis(port=int(port))
witness = redis.Redis(port=int(witness_port), decode_responses=True)

witness.rpush("ready", name)
witness.blpop("go", 60)
for _ in range(int(rounds)):
    lock = client.lock(key, timeout=10, sleep=0.01)
    assert lock.acquire()
    if witness.rpush("inside", name) > 1:
        witness.rpush("overlaps", " ".join(witness.lrange("inside", 0, -1)))
    time.sleep(random.uniform(0, 0.002))
    witness.lrem("inside", 0, name)
    witness.rpush("turns", name)
    lock.release()
    time.sleep(random.uniform(0, 0.01))
