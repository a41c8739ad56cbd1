#!/usr/bin/env bash
# Builds server and browser half for development and runs the demo: `scripts/demo.sh [ARGUMENTS]`.
# It does the steps of `cargo-leptos build` without cargo-leptos, which takes longer to build on a
# new machine than the console.
set -euo pipefail
"$(dirname "$0")/setup.sh" demo
# shellcheck source=scripts/env.sh
. "$(dirname "$0")/env.sh"
cd "$repo"

# The server reads the site from here, independent of CARGO_TARGET_DIR.
site=$repo/target/site
browser_half() {
    cargo build --lib --features hydrate --target wasm32-unknown-unknown --target-dir "$target/front"
    wasm-bindgen --target=web --out-name=lockkeeper --out-dir="$site/pkg" "$target/front/wasm32-unknown-unknown/debug/lockkeeper.wasm"
    mv "$site/pkg/lockkeeper_bg.wasm" "$site/pkg/lockkeeper.wasm"
    tailwindcss --input style/main.css --output "$site/pkg/lockkeeper.css"
    cp -r public/. "$site/"
}

# A release build leaves chunks and compressed files here, which the server would serve instead of
# the new ones.
rm -rf "$site"
mkdir -p "$site/pkg"
# Both halves are built at the same time: each ends with one large crate that uses a single core.
browser_half &
browser_build=$!
cargo build --bin lockkeeper --features "$features"
wait $browser_build
exec "$target/debug/lockkeeper" demo "$@"
