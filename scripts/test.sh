#!/usr/bin/env bash
# Runs all checks and tests, or the given ones: `scripts/test.sh [lint] [rust] [end2end]`. All of
# them run even if one fails. The last line is "N passed, N failed": the tests of both runners, and
# one failure for each failed check.
set -euo pipefail
# A script that runs this in the background, or nohup, makes it ignore signals. Its children would
# inherit that, and could not be stopped with these signals.
[ "${LOCKKEEPER_SIGNALS:-}" = default ] || exec env --default-signal LOCKKEEPER_SIGNALS=default "$0" "$@"
# shellcheck source=scripts/env.sh
. "$(dirname "$0")/env.sh"
cd "$repo"
exec </dev/null

results=$target/test-results
mkdir -p "$results"
rm -f "$results"/*
passed=0 failed=0 failed_steps=()

add_counts() {
    passed=$((passed + $1))
    failed=$((failed + $2))
}

# run_step NAME COMMAND...: runs a command and prints its name, result and duration.
run_step() {
    local name=$1 start=$SECONDS status=0
    shift
    printf '\n== %s\n' "$name"
    "$@" || status=$?
    if [ $status = 0 ]; then
        printf '== %s: ok, %d s\n' "$name" $((SECONDS - start))
    else
        printf '== %s: FAILED, %d s\n' "$name" $((SECONDS - start))
        failed_steps+=("$name")
    fi
    return $status
}

check() { run_step "$@" || add_counts 0 1; }

lint() {
    check "formatting" cargo fmt --check
    check "clippy, server half" cargo clippy --features "$features" --all-targets -- -D warnings
    # The release profile, in cargo-leptos' target directory for the browser half, which has the
    # same macros compiled.
    check "clippy, browser half" cargo clippy --features hydrate --lib --profile wasm-release \
        --target wasm32-unknown-unknown --target-dir "$target/front" -- -D warnings
    # Advisories are not checked: a new advisory would fail unrelated changes.
    check "dependencies: licences, bans, sources" "$cargo_deny/bin/cargo-deny" --all-features check licenses bans sources
    # Private items are documented too, so that links to them resolve.
    check "documentation" env RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" \
        cargo doc --features "$features" --no-deps --document-private-items
}

# with_timeout TIME COMMAND...: in CI, stops a command that hangs, with all its children. In a
# terminal the command must stay in the foreground process group, so that Ctrl-C reaches it.
with_timeout() {
    [ "${CI:-}" = true ] || shift
    [ "${CI:-}" != true ] || set -- timeout --kill-after=30s "$@"
    "$@"
}

# The databases and servers of the tests sync their files all the time, which takes seconds on a busy
# disk. Their files are in memory if there is room. No test depends on a crash of the machine.
memory_directory=/dev/shm
min_free_gib=8
use_memory_for_temporary_files() {
    local free directory
    free=$(df --output=avail --block-size=1G "$memory_directory" 2>/dev/null | tail -n 1 | tr -d ' ') || return 0
    [ "$free" -ge $min_free_gib ] || return 0
    directory=$(mktemp -d "$memory_directory/lockkeeper-tests.XXXXXX") || return 0
    # shellcheck disable=SC2064
    trap "rm -rf '$directory'" EXIT
    # As root, the tests run PostgreSQL as another user, who must be able to reach its files.
    chmod 755 "$directory"
    # Some systems forbid executing files there, which a few tests do.
    if cp "$(type -P true)" "$directory/" && "$directory/true" 2>/dev/null; then
        export TMPDIR=$directory
    fi
}

# See .config/nextest.toml for the settings. The benchmarks in src/bench are checked by clippy but
# not linked here.
nextest=(cargo nextest run --features "$features" --lib --test tests)

rust() {
    local status=0
    run_step "Rust tests" with_timeout 25m "${nextest[@]}" || status=1
    # nextest writes it here, independent of CARGO_TARGET_DIR.
    cp target/nextest/default/junit.xml "$results/rust.xml" 2>/dev/null || true
    add_runner_counts "Rust tests" $status "$(rust_counts)"
}

# Prints "PASSED FAILED" from the root element of nextest's JUnit report.
rust_counts() {
    sed -n '/^<testsuites /{s/.*tests="\([0-9]*\)".* failures="\([0-9]*\)".* errors="\([0-9]*\)".*/\1 \2 \3/p;q}' "$results/rust.xml" 2>/dev/null |
        awk '{ print $1 - $2 - $3, $2 + $3; found = 1 } END { if (!found) print 0, 0 }'
}

end2end() {
    local status=0
    run_step "browser tests" with_timeout 35m npm run --silent end2end || status=1
    add_runner_counts "browser tests" $status "$(browser_counts)"
}

# Prints "PASSED FAILED" from Playwright's JSON report.
# shellcheck disable=SC2016
browser_counts() {
    node -p 'const { expected, unexpected, flaky } = JSON.parse(fs.readFileSync(process.argv[1])).stats;
        `${expected} ${unexpected + flaky}`' "$results/end2end.json" 2>/dev/null || echo 0 0
}

# add_runner_counts NAME STATUS "PASSED FAILED": a runner that ran no test, or failed without a
# failed test, counts as one failure.
add_runner_counts() {
    local name=$1 status=$2 runner_passed runner_failed
    read -r runner_passed runner_failed <<<"$3"
    add_counts "$runner_passed" "$runner_failed"
    if [ $((runner_passed + runner_failed)) = 0 ] || { [ "$status" != 0 ] && [ "$runner_failed" = 0 ]; }; then
        [ "$status" != 0 ] || failed_steps+=("$name: no test was run")
        add_counts 0 1
    fi
}

# Prints the errors of failed browser tests in short form at the end of the log. nextest prints such
# a summary itself.
print_failures() {
    [ ! -s "$results/end2end.json" ] || node -e '
        const specs = (suite) => [...(suite.specs ?? []), ...(suite.suites ?? []).flatMap(specs)];
        const { suites, errors } = JSON.parse(fs.readFileSync(process.argv[1]));
        const firstLines = (text) => util.stripVTControlCharacters(text ?? "").split("\n").slice(0, 14).join("\n");
        for (const { message } of errors) console.log(firstLines(message));
        for (const { file, line, title, tests, ok } of specs({ suites })) {
            if (ok) continue;
            console.log(`---- ${file}:${line} ${title} ----`);
            for (const { message } of tests.flatMap(({ results }) => results).flatMap(({ errors }) => errors)) console.log(firstLines(message));
        }' "$results/end2end.json"
}

# Prints the browser tests that were skipped, with the reason: a font that is missing must not turn the
# comparison of screenshots off unseen.
# shellcheck disable=SC2016
print_skipped() {
    [ ! -s "$results/end2end.json" ] || node -e '
        const specs = (suite) => [...(suite.specs ?? []), ...(suite.suites ?? []).flatMap(specs)];
        const { suites } = JSON.parse(fs.readFileSync(process.argv[1]));
        for (const { file, line, title, tests } of specs({ suites })) {
            const skipped = tests.filter(({ status }) => status === "skipped");
            const reasons = skipped.flatMap(({ annotations }) => annotations).map(({ description }) => description);
            if (skipped.length) console.log(`skipped: ${file}:${line} ${title}: ${[...new Set(reasons)].join("; ") || "no reason given"}`);
        }' "$results/end2end.json"
}

[ $# -gt 0 ] || set -- lint rust end2end
goal=lint
[ "$*" = lint ] || goal="test"
scripts/setup.sh "$goal"
# The setup may have installed tools that env.sh adds to PATH.
. scripts/env.sh

# wait_and_print PROCESS LOG: waits for a background process and prints its log.
wait_and_print() {
    local status=0
    wait "$1" || status=$?
    cat "$2"
    return $status
}

# The browser tests run against the release build of the browser half: optimised, split and
# compressed. Without -P, the console would compress the files for every test: a second of a core for
# each in a debug build. The Rust tests accept any build.
browser_half() {
    # A build without -P leaves older compressed files, which would be served instead of the new ones.
    rm -rf target/site
    case " $* " in
        *' end2end '*) cargo-leptos build --frontend-only --release --split -P ;;
        *) cargo-leptos build --frontend-only ;;
    esac
}

# Builds the binary together with the Rust tests, as both test suites start it. cargo-leptos would
# compile it and many dependencies again, without the features that only the tests enable.
server_half() { "${nextest[@]}" --no-run; }

# The browser half is built in the background, in its own target directory: its last crate and
# wasm-opt use a single core. The first test waits for it.
if [ "$goal" = test ]; then
    browser_half "$@" >"$results/browser-half.log" 2>&1 &
    browser_half=$!
fi
both_halves() {
    [ "$browser_half" ] || return 0
    check "building the server half" server_half
    check "building the browser half" wait_and_print "$browser_half" "$results/browser-half.log"
    browser_half=
    use_memory_for_temporary_files
}
for suite in "$@"; do
    [ "$suite" = lint ] || both_halves
    "$suite"
done

printf '\n'
print_skipped || true
[ ${#failed_steps[@]} = 0 ] || print_failures || true
[ ${#failed_steps[@]} = 0 ] || printf 'failed: %s\n' "${failed_steps[@]}"
printf '%d passed, %d failed\n' $passed $failed | tee "$results/counts"
[ $failed = 0 ]
