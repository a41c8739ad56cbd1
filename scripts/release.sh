#!/usr/bin/env bash
# Builds the executable that is shipped (everything the browser needs is inside it), packs it with its man pages, completions and
# what an operator needs beside it, and shows the sizes, and what a browser downloads before the first page works.
set -euo pipefail
# shellcheck source=scripts/env.sh
. "$(dirname "$0")/env.sh"
cd "$repo"

scripts/setup.sh build
. scripts/env.sh

# Where it was built is nobody's business, and the same sources shall make the same executable elsewhere. RUSTFLAGS takes the place of
# those in .cargo/config.toml, so they are said again.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
maps=(--remap-path-prefix="$repo=/lockkeeper" --remap-path-prefix="$cargo_home=/cargo")
export RUSTFLAGS="--cfg erase_components ${maps[*]}"
export CFLAGS="-ffile-prefix-map=$repo=/lockkeeper -ffile-prefix-map=$cargo_home=/cargo"
# With -P the browser half is built and compressed first, so that the server half embeds the fresh files.
cargo-leptos build --release --split -P
for folder in "$repo" "$cargo_home"; do
    ! grep -qF "$folder" "$target/release/lockkeeper" || fail "the executable tells where it was built: $folder"
done

# The archive: the same sources make the same one, down to the times in it.
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=lockkeeper-$version-$(uname -m)-linux
release=$target/$name
rm -rf "$release"
mkdir -p "$release"/{bin,man/man1,completions}
cp "$target/release/lockkeeper" "$release/bin/"
cp README.md LICENSE .github/{CHANGELOG,SECURITY}.md "$release/"
mkdir "$release/.github"
cp .github/*.md "$release/.github/"     # where links of the README lead
cp -r scripts/package/{helm,lockkeeper.service,lockkeeper.sysusers,lockkeeper.toml,grafana-dashboard.json,prometheus-alerts.yml} "$release/"
"$release/bin/lockkeeper" man --into "$release/man/man1"
node scripts/notices.mjs "$release/NOTICES" "$features"
for shell in bash zsh fish; do "$release/bin/lockkeeper" completions "$shell" >"$release/completions/lockkeeper.$shell"; done
time=$(git log -1 --format=%ct 2>/dev/null) || time=0
tar --create --use-compress-program='gzip -n' --file "$release.tar.gz" --directory "$target" --sort=name --owner=0 --group=0 --numeric-owner \
    --mtime="@$time" "$name"
(cd "$target" && sha256sum "$name.tar.gz" >"$name.tar.gz.sha256")
rm -rf "$release"

size() { stat --format=%s "$@" | awk '{ sum += $1 } END { print sum }'; }
row() { printf '%-48s %10s\n' "$1" "$(numfmt --to=si --suffix=B "$2")"; }

printf '\n'
row "target/release/lockkeeper" "$(size "$target/release/lockkeeper")"
row "target/$name.tar.gz" "$(size "$release.tar.gz")"
scripts/weight.sh
