"""Acquires locks whose names do not say that they are locks, and prints names and tokens.

Arguments: port of the server, library (redis-py, redlock-py or django-redis).
"""

import sys

import redis
import redlock
from django.conf import settings

port, library = int(sys.argv[1]), sys.argv[2]
client = redis.Redis(port=port)

NAMES = {
    "redis-py": """invoices:2026-11 nightly-report shop.checkout.42 imports/acme/7 tenant:9:billing rebuild_search
        stock:warehouse-3 mail-digest cron:cleanup users:1842:merge 发票:42 thumbnails""",
    "redlock-py": "orders:export payouts:eu video:transcode:88 sync-crm warehouse:3:count reindex",
    "django-redis": "daily-stats geo:import newsletter",
}


def acquire(name):
    """Acquires the lock and returns its key."""
    if library == "redis-py":
        assert client.lock(name, timeout=300).acquire(blocking=False)
        return name
    if library == "redlock-py":
        assert redlock.Redlock([client]).lock(name, 300_000)
        return name
    from django.core.cache import cache

    assert cache.lock(name, timeout=300).acquire(blocking=False)
    return f":1:{name}"


settings.configure(
    CACHES={
        "default": {
            "BACKEND": "django_redis.cache.RedisCache",
            "LOCATION": f"redis://127.0.0.1:{port}/0",
        }
    }
)
for name in NAMES[library].split():
    key = acquire(name)
    print(key, client.get(key).hex())
