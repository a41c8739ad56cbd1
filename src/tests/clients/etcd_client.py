"""Holds a lock in etcd with etcd3gw until standard input ends. Arguments: port, name and TTL of the lock."""

import sys

from etcd3gw import Etcd3Client

port, name, ttl = sys.argv[1:]
lock = Etcd3Client(host="127.0.0.1", port=int(port)).lock(name, ttl=int(ttl))
print("acquired" if lock.acquire() else "refused", flush=True)
sys.stdin.read()
print("released" if lock.release() else "lost", flush=True)
