"""Acquires locks with redis-py and prints their names and tokens. Argument: port of the server."""

import asyncio
import sys

import redis
import redis.asyncio

port = int(sys.argv[1])
client = redis.Redis(port=port)
for name, timeout in (("orders:42", 300), ("nightly", None)):
    lock = client.lock(name, timeout=timeout)
    assert lock.acquire(blocking=False)
    print(name, lock.local.token.decode())


async def acquire_async():
    async with redis.asyncio.Redis(port=port) as client:
        lock = client.lock("orders:async", timeout=300)
        assert await lock.acquire(blocking=False)
        print("orders:async", lock.local.token.decode())


asyncio.run(acquire_async())
