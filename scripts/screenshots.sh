#!/usr/bin/env bash
# Takes the screenshots of the documentation: starts the demo on a free port and runs
# end2end/docs_screenshots.ts against it.
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
    grep -qF "$url" "$log" && is_ready=yes && break
    sleep 0.5
done
[ "${is_ready:-}" ] || { tail -n 20 "$log" >&2 && fail "The demo did not start (log: $log)."; }

mkdir -p docs/pictures
LOCKKEEPER_URL=$url LOCKKEEPER_SCREENSHOTS=$repo/docs/pictures npm run --silent end2end -- --project docs-screenshots
