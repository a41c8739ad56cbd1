"""Acquires locks with libraries based on redis-py and prints their keys and tokens. Argument: port of the server."""

import logging
import sys

import redis
import redis_lock
import redlock
import rq.scheduler
from celery import Celery
from django.conf import settings
from huey import RedisExpireHuey, RedisHuey
from pottery import Redlock
from redbeat.schedulers import RedBeatScheduler, acquire_distributed_beat_lock

logging.disable()  # RQ logs to standard output, which the test reads
port = int(sys.argv[1])
url = f"redis://127.0.0.1:{port}/0"
client = redis.Redis(port=port)


def print_lock(key):
    print(key, client.get(key).hex())


lock = redis_lock.Lock(client, "prl", expire=60)
assert lock.acquire(blocking=False)
print_lock("lock:prl")

printer = Redlock(key="printer", masters={client}, auto_release_time=60)
assert printer.acquire()
print_lock("redlock:printer")

settings.configure(
    CACHES={
        "default": {"BACKEND": "django_redis.cache.RedisCache", "LOCATION": url}
    }
)
from django.core.cache import cache  # noqa: E402 - after the settings

assert cache.lock("dlock", timeout=60).acquire(blocking=False)
print_lock(":1:dlock")

app = Celery("tasks", broker=url)
app.conf.redbeat_redis_url = url
scheduler = RedBeatScheduler(app=app, lazy=True)


class Beat:
    pass


beat = Beat()
beat.scheduler = scheduler
acquire_distributed_beat_lock(sender=beat)
print_lock("redbeat::lock")

assert redlock.Redlock([client]).lock("lock:payouts", 60_000)
print_lock("lock:payouts")

assert rq.scheduler.RQScheduler(["default"], connection=client).acquire_locks()
print_lock("rq:scheduler-lock:default")

RedisHuey("app", connection_pool=client.connection_pool).lock_task("nightly").__enter__()
print("huey.results.app", b"app.lock.nightly".hex())
RedisExpireHuey("eu", connection_pool=client.connection_pool).lock_task("nightly").__enter__()
print_lock("huey.r.eu.eu.lock.nightly")
