#!/usr/bin/env bash
# Takes the pictures of the documentation: starts the demo on a free port and lets Playwright visit it.
set -euo pipefail
# shellcheck source=scripts/env.sh
. "$(dirname "$0")/env.sh"
cd "$repo"

scripts/setup.sh test
. scripts/env.sh
cargo-leptos build

port=$(node -e 'const s = require("net").createServer().listen(0, "127.0.0.1", () => { console.log(s.address().port); s.close() })')
url=http://127.0.0.1:$port
log=$target/screenshots.log
"$target/debug/lockkeeper" demo --listen "127.0.0.1:$port" >"$log" 2>&1 &
demo=$!
trap 'kill $demo 2>/dev/null; wait $demo 2>/dev/null || true' EXIT

for _ in {1..60}; do
    kill -0 $demo 2>/dev/null || break
    grep -qF "$url" "$log" && ready=yes && break
    sleep 0.5
done
[ "${ready:-}" ] || { tail -n 20 "$log" >&2 && fail "the demo did not start (log: $log)."; }

mkdir -p .github/pictures
LOCKKEEPER_URL=$url LOCKKEEPER_PICTURES=$repo/.github/pictures npm run --silent end2end -- --project screenshots
