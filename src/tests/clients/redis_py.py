"""Takes locks with redis-py, prints each name and token, and leaves them there. Argument: the server's port."""

import asyncio
import sys

import redis
import redis.asyncio

port = int(sys.argv[1])
client = redis.Redis(port=port)
for name, timeout in (("orders:42", 30), ("nightly", None)):
    lock = client.lock(name, timeout=timeout)
    assert lock.acquire(blocking=False)
    print(name, lock.local.token.decode())


async def take():
    async with redis.asyncio.Redis(port=port) as client:
        lock = client.lock("orders:async", timeout=30)
        assert await lock.acquire(blocking=False)
        print("orders:async", lock.local.token.decode())


asyncio.run(take())
