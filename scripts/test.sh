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
passed=0 failed=0 unhappy=() alone=()

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

# How many failed tests run once more, each with the machine to itself. What fails beside others only, on a machine too small for all
# of them, is named at the end as such; what is broken fails again.
again_at_most=8

rust() {
    local status=0 failed_names=() p f p2 f2
    step "Rust tests" rust_tests rust.log || status=1
    read -r p f < <(rust_sums rust.log)
    mapfile -t failed_names < <(sed -n 's/^test \(.*\) \.\.\. FAILED$/\1/p' "$results/rust.log" | sort -u)
    if may_run_again "$f" ${#failed_names[@]}; then
        status=0
        step "the failed ones alone" rust_tests rust-alone.log -- --exact "${failed_names[@]}" --test-threads 1 || status=1
        read -r p2 f2 < <(rust_sums rust-alone.log)
        [ $((p2 + f2)) != "$f" ] || { p=$((p + p2)) f=$f2; }
        [ "$status$f" != 00 ] || passed_alone "${failed_names[@]}"
    fi
    count_runner "Rust tests" $status "$p $f"
}

# Most of these tests wait for servers and clocks, so many more run at once than there are cores.
export RUST_TEST_THREADS=${RUST_TEST_THREADS:-6}

# at_most TIME COMMAND...: without a terminal, where nobody sees that a test hangs, ends it with all that it started. In a terminal
# the command has to stay where Ctrl-C reaches it.
at_most() {
    [ "${CI:-}" = true ] || shift
    [ "${CI:-}" != true ] || set -- timeout --kill-after=30s "$@"
    "$@"
}

# rust_tests LOG ARGUMENTS...
rust_tests() {
    local log=$results/$1
    shift
    at_most 30m cargo test --features "$features" --no-fail-fast "$@" 2>&1 | tee "$log"
}

rust_sums() { awk '/^test result: / { p += $4; f += $6 } END { print p + 0, f + 0 }' "$results/$1"; }

# may_run_again FAILED NAMED: few failed, and the name of each is known (a name can stand for several)
may_run_again() { [ "$1" != 0 ] && [ "$1" -le $again_at_most ] && [ "$1" = "$2" ]; }

# passed_alone NAME...: the step before is forgiven, and not in silence
passed_alone() {
    unset 'unhappy[-1]'
    alone+=("$@")
}

end2end() {
    local status=0 p f p2 f2
    step "browser tests" at_most 35m npm run --silent end2end || status=1
    read -r p f < <(browser_sums)
    if may_run_again "$f" "$f"; then
        status=0
        tell_why_stories >"$results/end2end-first.txt" || true
        step "the failed ones alone" at_most 15m npm run --silent end2end -- --last-failed --workers 1 || status=1
        read -r p2 f2 < <(browser_sums)
        [ $((p2 + f2)) != "$f" ] || { p=$((p + p2)) f=$f2; }
        [ "$status$f" != 00 ] || passed_alone "browser stories"
    fi
    count_runner "browser tests" $status "$p $f"
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

# Why tests failed, in few lines and at the end: whoever looks at a long log looks there first.
tell_why() {
    [ ! -s "$results/rust.log" ] || awk '/^---- .* stdout ----$/ { left = 16 } left-- > 0' "$results"/rust*.log
    [ ! -s "$results/end2end-first.txt" ] || cat "$results/end2end-first.txt"
    [ ! -s "$results/end2end.json" ] || tell_why_stories
}

tell_why_stories() {
    node -e '
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

# The stories run on the program of the pages that is shipped: optimised, lightened, cut into parts and compressed. To the Rust tests
# any program will do.
browser_half() {
    case " $* " in
        *' end2end '*) PATH="$repo/scripts/lighten:$PATH" cargo-leptos build --frontend-only --release --split -P ;;
        *) cargo-leptos build --frontend-only ;;
    esac
}

# The executable comes from `cargo test`, which the Rust tests start and the browser tests too: cargo-leptos would
# build it, and much below it, once more without the features that only tests ask for.
if [ "$goal" = test ]; then
    check "building the browser half" browser_half "$@"
    check "building the server half" cargo test --features "$features" --no-run
fi
for part in "$@"; do "$part"; done

printf '\n'
[ $((${#unhappy[@]} + ${#alone[@]})) = 0 ] || tell_why || true
[ ${#alone[@]} = 0 ] || printf 'passed only when run alone: %s\n' "${alone[@]}"
[ ${#unhappy[@]} = 0 ] || printf 'failed: %s\n' "${unhappy[@]}"
printf '%d passed, %d failed\n' $passed $failed | tee "$results/counts"
[ $failed = 0 ]
