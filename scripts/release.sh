#!/usr/bin/env bash
# Builds the release binary, which contains all files of the browser half, and an archive of it with
# man pages, shell completions and deployment files. Prints their sizes and the size of the first
# page.
set -euo pipefail
# shellcheck source=scripts/env.sh
. "$(dirname "$0")/env.sh"
cd "$repo"

scripts/setup.sh build
. scripts/env.sh

# The binary must not contain the build directory, and the build must be reproducible elsewhere.
# RUSTFLAGS overrides the flags in .cargo/config.toml, so they are repeated.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
remaps=(--remap-path-prefix="$repo=/lockkeeper" --remap-path-prefix="$cargo_home=/cargo")
export RUSTFLAGS="--cfg erase_components ${remaps[*]}"
export CFLAGS="-ffile-prefix-map=$repo=/lockkeeper -ffile-prefix-map=$cargo_home=/cargo"
# -P builds and compresses the browser half first, so that the server half embeds its new files.
cargo-leptos build --release --split -P
for path in "$repo" "$cargo_home"; do
    ! grep -qF "$path" "$target/release/lockkeeper" || fail "The binary contains the path of its build: $path."
done

# The archive is reproducible: file order, owners and times are fixed.
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -n 1)
name=lockkeeper-$version-$(uname -m)-linux
release=$target/$name
rm -rf "$release"
mkdir -p "$release"/{bin,man/man1,completions}
cp "$target/release/lockkeeper" "$release/bin/"
cp README.md LICENSE "$release/"
mkdir "$release/.github" "$release/docs"
cp .github/*.md "$release/.github/"     # the README links to these files
cp docs/*.md "$release/docs/"
cp -r scripts/package/{helm,lockkeeper.service,lockkeeper.sysusers,lockkeeper.toml,grafana-dashboard.json,prometheus-alerts.yml} "$release/"
"$release/bin/lockkeeper" man --out-dir "$release/man/man1"
node scripts/third-party-licenses.mjs "$release/NOTICES" "$features"
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
scripts/bundle-size.sh
