#!/usr/bin/env bash
# Builds both halves of the console for development and shows the demo: `scripts/demo.sh [ARGUMENTS]`. It does what
# `cargo-leptos build` does, without it: on a new machine cargo-leptos takes longer to build than the console.
set -euo pipefail
"$(dirname "$0")/setup.sh" demo
# shellcheck source=scripts/env.sh
. "$(dirname "$0")/env.sh"
cd "$repo"

# where the server looks for it, wherever cargo builds
site=$repo/target/site
browser_half() {
    cargo build --lib --features hydrate --target wasm32-unknown-unknown --target-dir "$target/front"
    wasm-bindgen --target=web --out-name=lockkeeper --out-dir="$site/pkg" "$target/front/wasm32-unknown-unknown/debug/lockkeeper.wasm"
    mv "$site/pkg/lockkeeper_bg.wasm" "$site/pkg/lockkeeper.wasm"
    tailwindcss --input style/main.css --output "$site/pkg/lockkeeper.css"
    cp -r public/. "$site/"
}

# A release is cut into parts and compressed: nothing of it may stay beside what is built now.
rm -rf "$site"
mkdir -p "$site/pkg"
# Each half ends with one large crate, which keeps one core busy: they are built at the same time.
browser_half &
browser=$!
cargo build --bin lockkeeper --features "$features"
wait $browser
exec "$target/debug/lockkeeper" demo "$@"
