#!/usr/bin/env bash
# Builds Rust's wasm32 standard library from the sources of the distribution into the given
# directory (see setup.sh). It runs as root, because the directory belongs to the compiler of the
# distribution.
set -euo pipefail
std=$1

probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT
cd "$probe"
mkdir src
printf '#![no_std]\n' >src/lib.rs
printf '[package]\nname = "probe"\nedition = "2021"\n[profile.release]\npanic = "abort"\n' >Cargo.toml

# RUSTC_BOOTSTRAP permits -Z build-std on a stable compiler; nothing else is built with it.
env -u RUSTFLAGS -u CARGO_TARGET_DIR RUSTC_BOOTSTRAP=1 RUSTC=/usr/bin/rustc \
    /usr/bin/cargo build --release -Z build-std=std,panic_abort,panic_unwind,proc_macro --target wasm32-unknown-unknown
rm target/wasm32-unknown-unknown/release/deps/libprobe-*.rlib

rm -rf "$std"
mkdir -p "$std"
cp target/wasm32-unknown-unknown/release/deps/*.rlib "$std/"
/usr/bin/rustc --version >"$std/built-by"
