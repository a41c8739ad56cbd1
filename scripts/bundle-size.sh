#!/usr/bin/env bash
# Prints the compressed size of the files that the first page loads, from the release build in
# target/site, and the size of each lazily loaded chunk. Fails if the first page exceeds its budget.
set -euo pipefail
# shellcheck source=scripts/env.sh
. "$(dirname "$0")/env.sh"

# Bytes. The HTML is not included, because its size depends on the locks; its first rows are about 7
# kB. 563 kB measured.
budget=565000

# Independent of CARGO_TARGET_DIR.
pkg=$repo/target/site/pkg
loader=__wasm_split.______________________.js
first_page=(lockkeeper.wasm lockkeeper.js lockkeeper.css "$loader")
[ -f "$pkg/lockkeeper.wasm.br" ] || fail "$pkg has no compressed release build. Run \`make release\` first."

size() { stat --format=%s "$@" | awk '{ sum += $1 } END { print sum }'; }
row() { printf '%-48s %10s\n' "$1" "$(numfmt --to=si --suffix=B "$2")"; }

cd "$pkg"
for file in "${first_page[@]}"; do row "  $file, brotli" "$(size "$file.br")"; done
total=$(size "${first_page[@]/%/.br}")
row "  first page, brotli" "$total"
# The manifest of the build lists the files of each chunk.
node -p 'Object.entries(JSON.parse(fs.readFileSync("__wasm_split_manifest.json"))).map((chunk) => chunk.flat().join(" ")).sort().join("\n")' |
    while read -r chunk files; do
        # shellcheck disable=SC2086
        row "  lazy: $chunk, brotli" "$(size $(printf '%s.wasm.br ' $files))"
    done
[ "$total" -le $budget ] || fail "The first page is $total bytes; the budget is $budget bytes."
