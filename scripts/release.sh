#!/usr/bin/env bash
# Builds the executable that is shipped (everything the browser needs is inside it) and shows its size, and what a
# browser downloads before the first page works.
set -euo pipefail
# shellcheck source=scripts/env.sh
. "$(dirname "$0")/env.sh"
cd "$repo"

scripts/setup.sh build
. scripts/env.sh

# With -P the browser half is built and compressed first, so that the server half embeds the fresh files.
cargo-leptos build --release -P

size() { stat --format=%s "$@" | awk '{ sum += $1 } END { print sum }'; }
row() { printf '%-28s %10s\n' "$1" "$(numfmt --to=si --suffix=B "$2")"; }

printf '\n'
row "target/release/lockkeeper" "$(size "$target/release/lockkeeper")"
cd target/site/pkg
for file in lockkeeper.wasm lockkeeper.js lockkeeper.css; do row "  $file, brotli" "$(size "$file.br")"; done
row "  first load, brotli" "$(size lockkeeper.{wasm,js,css}.br)"
