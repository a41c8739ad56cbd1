"""Writes what caches, sessions, queues and rate limiters store, and prints the number of keys of
each shape as JSON. A shape is a library with its options and the kind of the value. No library
holds a lock at the end. Argument: port of the server."""

import asyncio
import json
import logging
import os
import random
import secrets
import sys
import uuid
from datetime import timedelta

import aiocache
import aiocache.serializers
import django
import dramatiq.rate_limits
import dramatiq.rate_limits.backends
import dramatiq.results
import dramatiq.results.backends
import flask
import flask_caching
import flask_session
import huey
import jwt
import kombu
import limits
import redis
import rq
from celery import Celery, group
from celery.result import GroupResult
from django.conf import settings
from dogpile.cache import make_region
from dogpile.cache.util import sha1_mangle_key
from dramatiq.brokers.redis import RedisBroker

logging.disable()
port = int(sys.argv[1])
url = f"redis://127.0.0.1:{port}/0"
client = redis.Redis(port=port)
counts = {}

# Seconds; none is shorter than the test.
TTLS = (240, 300, 900, 3600, 86_400, 1_209_600, None)
PER_KIND = 45
PER_SHAPE = 140


def few_or_many():
    """The number of keys of the next shape. The console does not list possible locks if many keys
    share a prefix, so some shapes have few."""
    return PER_KIND if len(counts) % 3 else 3


# Names and values of cache entries.
VALUES = {
    "code": ("otp:{}", lambda n: f"{random.randrange(10**6):06}"),
    "count": ("views:{}", lambda n: n * 37),
    "price": ("price:{}", lambda n: n + 0.99),
    "flag": ("feature:{}", lambda n: n % 2 == 0),
    "UUID": ("device:{}", lambda n: str(uuid.uuid4())),
    "MD5": ("thumbnail:{}", lambda n: secrets.token_hex(16)),
    "token": ("reset:{}", lambda n: secrets.token_urlsafe(16)),
    "JWT": ("token:{}", lambda n: jwt.encode({"sub": str(n)}, "k" * 32, "HS256")),
    "page": ("page:{}", lambda n: f"<p>{n}</p>" * 20),
    "bytes": ("avatar:{}", lambda n: os.urandom(16 + n % 8)),
    "object": ("user:{}", lambda n: {"id": n, "name": "Ada", "roles": ["admin"]}),
    "small object": ("lease:{}", lambda n: {"n": n % 100, "is": "x" * (n % 16)}),
    "rows": ("door-lock:{}", lambda n: [[n, "smart lock", 19.99], [n + 1, "padlock", 9.5]]),
    "nothing": ("profile:{}", lambda n: None),
}
TEXTS = ("code", "UUID", "MD5", "token", "JWT", "page")


def shape(name, write, count=PER_SHAPE):
    """Calls `write` with numbers, and counts the keys that it adds."""
    before = client.dbsize()
    for n in range(count):
        write(n)
    counts[name] = client.dbsize() - before


def cache(name, set_value, kinds=tuple(VALUES)):
    """A shape for each kind of value. The numbers differ, because caches may share names."""
    start = len(counts) * 1000
    for kind in kinds:
        template, value = VALUES[kind]
        shape(
            f"{name}: {kind}",
            lambda n: set_value(template.format(start + n), value(n), TTLS[n % len(TTLS)]),
            few_or_many(),
        )


# Django: its own cache, django-redis with its serializers and compressors, and sessions.
DJANGO_CACHES = {
    "Django": ("django.core.cache.backends.redis.RedisCache", {}),
    "django-redis": ("django_redis.cache.RedisCache", {}),
    "django-redis JSON": (
        "django_redis.cache.RedisCache",
        {"SERIALIZER": "django_redis.serializers.json.JSONSerializer"},
    ),
    "django-redis msgpack": (
        "django_redis.cache.RedisCache",
        {"SERIALIZER": "django_redis.serializers.msgpack.MSGPackSerializer"},
    ),
    "django-redis zlib": (
        "django_redis.cache.RedisCache",
        {"COMPRESSOR": "django_redis.compressors.zlib.ZlibCompressor"},
    ),
    "django-redis LZMA": (
        "django_redis.cache.RedisCache",
        {"COMPRESSOR": "django_redis.compressors.lzma.LzmaCompressor"},
    ),
    "django-redis gzip": (
        "django_redis.cache.RedisCache",
        {"COMPRESSOR": "django_redis.compressors.gzip.GzipCompressor"},
    ),
}
settings.configure(
    CACHES={
        name.replace("Django", "default"): {
            "BACKEND": backend,
            "LOCATION": url,
            "OPTIONS": options,
            "KEY_PREFIX": "shop" if options else "",
        }
        for name, (backend, options) in DJANGO_CACHES.items()
    },
    SECRET_KEY="test",
)
django.setup()
from django.contrib.sessions.backends.cache import SessionStore  # noqa: E402 - after the settings
from django.core.cache import caches  # noqa: E402

for name in DJANGO_CACHES:
    backend = caches[name.replace("Django", "default")]
    kinds = [kind for kind in VALUES if (name, kind) != ("django-redis JSON", "bytes")]
    cache(name, backend.set, kinds)


def django_session(n):
    session = SessionStore()
    session.update({"_auth_user_id": str(n), "_auth_user_hash": secrets.token_hex(32)})
    session.set_expiry(TTLS[n % 6])
    session.save()


shape("Django sessions", django_session)

# Flask-Caching and Flask-Session.
app = flask.Flask("shop")
flask_cache = flask_caching.Cache(config={"CACHE_TYPE": "RedisCache", "CACHE_REDIS_URL": url})
flask_cache.init_app(app)
with app.app_context():
    cache("Flask-Caching", lambda key, value, ttl: flask_cache.set(key, value, timeout=ttl or 0))

    @flask_cache.memoize(300)
    def get_digest(n):
        return VALUES["MD5"][1](n)

    shape("Flask-Caching memoized", get_digest)


def flask_sessions(name, **options):
    app = flask.Flask(name)
    app.config.update(
        SECRET_KEY="test", SESSION_TYPE="redis", SESSION_REDIS=client, SESSION_PERMANENT=True, **options
    )
    flask_session.Session(app)

    @app.route("/<int:n>")
    def sign_in(n):
        flask.session.update(user=n, csrf=secrets.token_hex(16), cart=list(range(n % 4)))
        return ""

    shape(name, lambda n: app.test_client().get(f"/{n}"), PER_KIND)


flask_sessions("Flask-Session")
flask_sessions("Flask-Session JSON", SESSION_SERIALIZATION_FORMAT="json", SESSION_KEY_PREFIX="shop:")
flask_sessions("Flask-Session signed", SESSION_USE_SIGNER=True, PERMANENT_SESSION_LIFETIME=timedelta(minutes=5))

# dogpile.cache.
for name, options, arguments in (
    ("dogpile", {}, {}),
    ("dogpile SHA-1", {"key_mangler": sha1_mangle_key}, {"redis_expiration_time": 300}),
    ("dogpile JSON", {"serializer": lambda value: json.dumps(value).encode(), "deserializer": json.loads}, {}),
):
    region = make_region(**options).configure("dogpile.cache.redis", arguments={"url": url, **arguments})
    kinds = [kind for kind in VALUES if (name, kind) != ("dogpile JSON", "bytes")]
    # Keys of a mangled name must differ from those of the region before.
    cache(name, lambda key, value, ttl: region.set(key.encode() if options.get("key_mangler") else key, value), kinds)


# aiocache.
async def write_with_aiocache():
    async def shape(name, write, count=PER_SHAPE):
        before = client.dbsize()
        for n in range(count):
            await write(n)
        counts[name] = client.dbsize() - before

    # The serializers for text write values as they are.
    for serializer, kinds in (
        ("Json", [kind for kind in VALUES if kind != "bytes"]),
        ("Pickle", VALUES),
        ("MsgPack", VALUES),
        ("String", ("count", "price", *TEXTS)),
        ("Null", TEXTS),
    ):
        serialize = getattr(aiocache.serializers, f"{serializer}Serializer")()
        store = aiocache.RedisCache(
            endpoint="127.0.0.1", port=port, serializer=serialize, namespace=f"{serializer.lower()}:"
        )
        for kind in kinds:
            template, value = VALUES[kind]
            if kind == "MD5":
                template = "checksum:{}"
            await shape(
                f"aiocache {serializer}: {kind}",
                lambda n: store.set(template.format(n), value(n), ttl=TTLS[n % len(TTLS)]),
                few_or_many(),
            )
        await store.close()
    for kind, ttl in ((kind, ttl) for kind in TEXTS for ttl in (300, 3600)):
        # The name is the function with its arguments.
        @aiocache.cached(
            ttl=ttl,
            cache=aiocache.RedisCache,
            endpoint="127.0.0.1",
            port=port,
            serializer=aiocache.serializers.StringSerializer(),
        )
        async def get_value(n, kind, ttl):
            return VALUES[kind][1](n)

        await shape(f"aiocache decorator, {ttl} s: {kind}", lambda n: get_value(n, kind, ttl=ttl), few_or_many())


asyncio.run(write_with_aiocache())

# Celery: messages, results of all states, groups and chords.
celery = Celery("shop", broker=url, backend=url)


@celery.task(name="shop.mail")
def mail(n):
    return n


for name, options in {
    "JSON": {},
    "pickle": {"serializer": "pickle"},
    "zlib": {"compression": "zlib"},
    "with a priority": {"priority": 6},
    "delayed": {"countdown": 3600, "expires": 7200},
}.items():
    queue = name.split()[0].lower()
    shape(f"Celery tasks {name}", lambda n: mail.apply_async([n], queue=queue, **options), PER_KIND)
for state in ("SUCCESS", "FAILURE", "RETRY", "STARTED"):
    result = {"n": 1} if state in ("SUCCESS", "STARTED") else ValueError("no such user")
    shape(
        f"Celery results {state}",
        lambda n: celery.backend.store_result(str(uuid.uuid4()), result, state),
    )


def celery_group(n):
    results = [celery.AsyncResult(str(uuid.uuid4())) for _ in range(3)]
    GroupResult(str(uuid.uuid4()), results).save(backend=celery.backend)


def celery_chord(n):
    header = group(mail.s(n), mail.s(n + 1))
    result = header.freeze(group_id=str(uuid.uuid4()), root_id=None)
    celery.backend.apply_chord((result.id, list(result)), mail.s())
    celery.backend.set_chord_size(result.id, 2)


shape("Celery groups", celery_group)
shape("Celery chords", celery_chord)


def unacknowledged(n):
    queue.get(timeout=5)


queue = kombu.Connection(url).SimpleQueue("json")
shape("kombu unacknowledged messages", unacknowledged, 20)

# RQ: jobs that wait, are scheduled, have finished and have failed.
jobs = rq.Queue("default", connection=client)
shape("RQ jobs", lambda n: jobs.enqueue("operator.neg", n, ttl=86_400, meta={"user": n}))
first = jobs.job_ids[0]
shape("RQ dependent jobs", lambda n: jobs.enqueue("operator.neg", n, depends_on=first), PER_KIND)
bulk = rq.Queue("bulk", connection=client, serializer="rq.serializers.JSONSerializer")
shape("RQ scheduled jobs", lambda n: bulk.enqueue_in(timedelta(hours=1), "operator.neg", n))
done = rq.Queue("done", connection=client)
shape("RQ jobs of a worker", lambda n: done.enqueue("operator.neg" if n % 4 else "no.such", n), PER_KIND)
shape("RQ worker", lambda n: rq.SimpleWorker([done], connection=client).work(burst=True), 1)
rq.suspension.suspend(client, ttl=600)

# Dramatiq: messages, results and rates. Its ConcurrentRateLimiter is a semaphore.
broker = RedisBroker(url=url)
results = dramatiq.results.backends.RedisBackend(url=url)
broker.add_middleware(dramatiq.results.Results(backend=results))
dramatiq.set_broker(broker)
rates = dramatiq.rate_limits.backends.RedisBackend(url=url)


@dramatiq.actor(store_results=True)
def resize(n):
    return n


@dramatiq.actor
def never(n):
    return n


shape("Dramatiq messages", never.send)
shape("Dramatiq delayed messages", lambda n: never.send_with_options(args=(n,), delay=3_600_000))
shape("Dramatiq results", lambda n: results.store_result(resize.message(n), {"n": n}, 600_000))
consumer = broker.consume("default", prefetch=20)
shape("Dramatiq consumer", lambda n: next(consumer), 1)


def acquire_rate(n):
    with dramatiq.rate_limits.WindowRateLimiter(rates, f"window:{n}", limit=9, window=300).acquire():
        pass


def acquire_bucket(n):
    with dramatiq.rate_limits.BucketRateLimiter(rates, f"mails:{n}", limit=9, bucket=300_000).acquire():
        pass


shape("Dramatiq window", acquire_rate, PER_KIND)
shape("Dramatiq bucket", acquire_bucket, PER_KIND)
shape("Dramatiq barrier", lambda n: dramatiq.rate_limits.Barrier(rates, f"group:{uuid.uuid4()}").create(3), PER_KIND)

# huey: queues, schedules and results.
for name, kind in (
    ("hash", huey.RedisHuey),
    ("strings", huey.RedisExpireHuey),
    ("priorities", huey.PriorityRedisHuey),
    ("strings and priorities", huey.PriorityRedisExpireHuey),
):
    instance = kind(name.split()[0] + str(len(name)), connection_pool=client.connection_pool)
    task = instance.task()(lambda n: {"n": n})

    def write(n):
        result = task(n)
        instance.put(result.id, {"n": n, "token": secrets.token_hex(16)})
        instance.add_schedule(task.s(n))

    shape(f"huey {name}", write)

# limits, the storage of Flask-Limiter and slowapi.
storage = limits.storage.RedisStorage(url)
for name in ("FixedWindow", "MovingWindow", "SlidingWindowCounter"):
    limiter = getattr(limits.strategies, f"{name}RateLimiter")(storage)
    for amount in ("10/5minute", "1000/day"):
        rate = limits.parse(amount)
        for kind, user in (("address", lambda n: f"10.0.{n}.7"), ("token", VALUES["MD5"][1])):
            shape(f"limits {name} {amount} by {kind}", lambda n: limiter.hit(rate, name, user(n)), PER_KIND)

print(json.dumps(counts))
sys.stdout.flush()
# kombu would put the unacknowledged messages back into the queue.
os._exit(0)
