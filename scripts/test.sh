#!/usr/bin/env bash
# Runs the checks and tests, all of them or those named: `scripts/test.sh [lint] [rust] [end2end]`. A failure does not
# stop the others. The last line is "N passed, N failed": tests of both runners, and each failed check as one failure.
set -euo pipefail
# Started in the background by a script, or by nohup, it would hand ignored signals down to everything, and commands that
# are to be ended by them would not be.
[ "${LOCKKEEPER_SIGNALS:-}" = default ] || exec env --default-signal LOCKKEEPER_SIGNALS=default "$0" "$@"
# shellcheck source=scripts/env.sh
. "$(dirname "$0")/env.sh"
cd "$repo"
exec </dev/null

results=$target/test-results
mkdir -p "$results"
rm -f "$results"/*
passed=0 failed=0 unhappy=()

count() {
    passed=$((passed + $1))
    failed=$((failed + $2))
}

# step NAME COMMAND...: says what runs, how it ended and how long it took
step() {
    local name=$1 start=$SECONDS status=0
    shift
    printf '\n== %s\n' "$name"
    "$@" || status=$?
    if [ $status = 0 ]; then
        printf '== %s: fine, %d s\n' "$name" $((SECONDS - start))
    else
        printf '== %s: FAILED, %d s\n' "$name" $((SECONDS - start))
        unhappy+=("$name")
    fi
    return $status
}

check() { step "$@" || count 0 1; }

lint() {
    check "formatting" cargo fmt --check
    check "clippy, server half" cargo clippy --features "$features" --all-targets -- -D warnings
    # as it is shipped, and in cargo-leptos' folder for the browser half, which has built the same macros
    check "clippy, browser half" cargo clippy --features hydrate --lib --profile wasm-release \
        --target wasm32-unknown-unknown --target-dir "$target/front" -- -D warnings
    # not its advisories: whether one is known is a matter of the day, not of the change
    check "dependencies: licences, bans, sources" "$cargo_deny/bin/cargo-deny" --all-features check licenses bans sources
    # private items are documented here too, so a link to one leads somewhere
    check "documentation" env RUSTDOCFLAGS="-D warnings -A rustdoc::private_intra_doc_links" \
        cargo doc --features "$features" --no-deps --document-private-items
}

# at_most TIME COMMAND...: without a terminal, where nobody sees that it hangs, ends it with all that it started. In a terminal
# the command has to stay where Ctrl-C reaches it.
at_most() {
    [ "${CI:-}" = true ] || shift
    [ "${CI:-}" != true ] || set -- timeout --kill-after=30s "$@"
    "$@"
}

# What runs beside what says .config/nextest.toml. The measurements in src/bench, which clippy looks at, are not linked here.
nextest=(cargo nextest run --features "$features" --lib --test tests)

rust() {
    local status=0
    step "Rust tests" at_most 25m "${nextest[@]}" || status=1
    cp "$target/nextest/default/junit.xml" "$results/rust.xml" 2>/dev/null || true
    count_runner "Rust tests" $status "$(rust_sums)"
}

# nextest's report, whose first element has the sums
rust_sums() {
    sed -n '/^<testsuites /{s/.*tests="\([0-9]*\)".* failures="\([0-9]*\)".* errors="\([0-9]*\)".*/\1 \2 \3/p;q}' "$results/rust.xml" 2>/dev/null |
        awk '{ print $1 - $2 - $3, $2 + $3; told = 1 } END { if (!told) print 0, 0 }'
}

end2end() {
    local status=0
    step "browser tests" at_most 35m npm run --silent end2end || status=1
    count_runner "browser tests" $status "$(browser_sums)"
}

# shellcheck disable=SC2016
browser_sums() {
    node -p 'const { expected, unexpected, flaky } = JSON.parse(fs.readFileSync(process.argv[1])).stats;
        `${expected} ${unexpected + flaky}`' "$results/end2end.json" 2>/dev/null || echo 0 0
}

# count_runner NAME STATUS "PASSED FAILED": to run no test, or to fail without a failed test, is one failure more.
count_runner() {
    local name=$1 status=$2 p f
    read -r p f <<<"$3"
    count "$p" "$f"
    if [ $((p + f)) = 0 ] || { [ "$status" != 0 ] && [ "$f" = 0 ]; }; then
        [ "$status" != 0 ] || unhappy+=("$name: none was run")
        count 0 1
    fi
}

# Why stories failed, in few lines and at the end: whoever looks at a long log looks there first. nextest does the same by itself.
tell_why() {
    [ ! -s "$results/end2end.json" ] || node -e '
        const specs = (suite) => [...(suite.specs ?? []), ...(suite.suites ?? []).flatMap(specs)];
        const { suites, errors } = JSON.parse(fs.readFileSync(process.argv[1]));
        const first = (text) => util.stripVTControlCharacters(text ?? "").split("\n").slice(0, 14).join("\n");
        for (const { message } of errors) console.log(first(message));
        for (const { file, line, title, tests, ok } of specs({ suites })) {
            if (ok) continue;
            console.log(`---- ${file}:${line} ${title} ----`);
            for (const { message } of tests.flatMap(({ results }) => results).flatMap(({ errors }) => errors)) console.log(first(message));
        }' "$results/end2end.json"
}

[ $# -gt 0 ] || set -- lint rust end2end
goal=lint
[ "$*" = lint ] || goal="test"
scripts/setup.sh "$goal"
# setup may have changed what env.sh finds
. scripts/env.sh

# shown_after PROCESS LOG: waits for what runs in the background, and shows what it said
shown_after() {
    local status=0
    wait "$1" || status=$?
    cat "$2"
    return $status
}

# The stories run on the program of the pages that is shipped: optimised, cut into parts and compressed. To the Rust tests
# any program will do.
browser_half() {
    case " $* " in
        *' end2end '*) cargo-leptos build --frontend-only --release --split -P ;;
        *) cargo-leptos build --frontend-only ;;
    esac
}

# The executable comes from the build of the Rust tests, which start it and the browser tests too: cargo-leptos would build it, and
# much below it, once more without the features that only tests ask for.
server_half() { "${nextest[@]}" --no-run; }

# Each half ends with one large crate, and wasm-opt, which keep one core busy: the browser half is built beside whatever else is built
# or checked, in a folder of its own, and has to be there when the first test runs.
if [ "$goal" = test ]; then
    browser_half "$@" >"$results/browser-half.log" 2>&1 &
    browser_half=$!
fi
both_halves() {
    [ "$browser_half" ] || return 0
    check "building the server half" server_half
    check "building the browser half" shown_after "$browser_half" "$results/browser-half.log"
    browser_half=
}
for part in "$@"; do
    [ "$part" = lint ] || both_halves
    "$part"
done

printf '\n'
[ ${#unhappy[@]} = 0 ] || tell_why || true
[ ${#unhappy[@]} = 0 ] || printf 'failed: %s\n' "${unhappy[@]}"
printf '%d passed, %d failed\n' $passed $failed | tee "$results/counts"
[ $failed = 0 ]
