#!/usr/bin/env bash
# Shows what a browser downloads before the first page works, out of the compressed release build in target/site, and what each further
# chunk of the pages' program adds; fails when the first page weighs more than the budget.
set -euo pipefail
# shellcheck source=scripts/env.sh
. "$(dirname "$0")/env.sh"

# The page itself is not in this: that depends on the locks. Its first rows are about 7 kB.
budget=500000

pkg=$target/site/pkg
loader=__wasm_split.______________________.js
first=(lockkeeper.wasm lockkeeper.js lockkeeper.css "$loader")
[ -f "$pkg/lockkeeper.wasm.br" ] || fail "$pkg holds no compressed release build."

size() { stat --format=%s "$@" | awk '{ sum += $1 } END { print sum }'; }
row() { printf '%-48s %10s\n' "$1" "$(numfmt --to=si --suffix=B "$2")"; }

cd "$pkg"
for file in "${first[@]}"; do row "  $file, brotli" "$(size "$file.br")"; done
sum=$(size "${first[@]/%/.br}")
row "  first load, brotli" "$sum"
# The files that each part is made of, as the build lists them.
node -p 'Object.entries(JSON.parse(fs.readFileSync("__wasm_split_manifest.json"))).map((part) => part.flat().join(" ")).sort().join("\n")' |
    while read -r part files; do
        # shellcheck disable=SC2086
        row "  later: $part, brotli" "$(size $(printf '%s.wasm.br ' $files))"
    done
[ "$sum" -le $budget ] || fail "the first load weighs $sum bytes, more than the $budget that it may."
