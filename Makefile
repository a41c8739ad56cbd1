# Commands for development. The work is done in scripts/; each target first installs the tools that it needs.
SHELL := /bin/bash
ENV := . scripts/env.sh

.PHONY: help setup demo dev test lint fmt test-rust end2end soak update-snapshots bench bench-ui test-release release screenshots clean

help: ## Show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "  make %-16s %s\n", $$1, $$2 }'

setup: ## Install everything the other targets need
	@scripts/setup.sh test

demo: ## Build and start the demo: the console on real Redis servers with simulated clients (ARGS="--listen 127.0.0.1:9000")
	@scripts/demo.sh $(ARGS)

dev: ## Run the console and rebuild it after every edit (ARGS="demo" to run another command than "serve")
	@scripts/setup.sh dev
	@$(ENV) && PATH="$$repo/scripts/cargo-watch-shim:$$PATH" exec cargo-leptos watch -- $(or $(ARGS),serve)

test: ## Run all checks and tests; prints "N passed, N failed" at the end
	@scripts/test.sh

lint: ## Check formatting, clippy for server and browser, licences of dependencies, documentation links
	@scripts/test.sh lint

fmt: ## Format the Rust sources
	@scripts/setup.sh lint
	@$(ENV) && cargo fmt

test-rust: ## Run only the Rust tests
	@scripts/test.sh rust

end2end: ## Run only the browser tests
	@scripts/test.sh end2end

update-snapshots: ## Update the screenshots that the browser tests compare pages with (end2end/pictures); review them before committing
	@scripts/setup.sh test
	@$(ENV) && cargo-leptos build --frontend-only --release --split -P && cargo build --features ssr && \
		npm run --silent end2end -- screenshots.spec.ts --update-snapshots

soak: ## Run fault injection, fuzzing and the simulation for a long time (SOAK=600 seconds each)
	@scripts/setup.sh test
	@$(ENV) && PROPTEST_CASES=$$(( $(or $(filter-out 0,$(SOAK)),600) * 100 )) cargo test --features "$$features" --lib --test tests -- arbitrary fuzz::
	@$(ENV) && LOCKKEEPER_SOAK_SECONDS=$(or $(filter-out 0,$(SOAK)),600) LOCKKEEPER_SOAK_JOBS=20000 \
		cargo test --features "$$features" --test tests -- --nocapture soak:: chaos:: leaders_are_killed simulation:: cli::concurrent_jobs idle_touches:: schemathesis::

bench: ## Run the benchmarks (ARGS="--quick", ARGS="--help")
	@scripts/setup.sh bench
	@$(ENV) && cargo build --release --features "$$features" --bins --example bench && exec "$$target/release/examples/bench" $(ARGS)

bench-ui: ## Measure the size of the first page and the lock list with 100,000 locks in Chromium (LOCKS=, CHANGES= per second, MINUTES=, ARGS=page_size)
	@scripts/setup.sh test
	@$(ENV) && cargo-leptos build --release --split -P && scripts/bundle-size.sh && LOCKKEEPER_MEASURE=1 LOCKKEEPER_BIN="$$target/release/lockkeeper" npm run --silent end2end -- $(ARGS)

test-release: ## Build the release binary, run the browser tests against it and check the size of its first page
	@scripts/setup.sh test
	@$(ENV) && cargo-leptos build --release --split -P && scripts/bundle-size.sh && LOCKKEEPER_RELEASE=1 LOCKKEEPER_BIN="$$target/release/lockkeeper" npm run --silent end2end -- $(ARGS)

release: ## Build the release binary and its archive, and print the size of the first page
	@scripts/release.sh

screenshots: ## Update the screenshots of the documentation from the demo (docs/pictures)
	@scripts/screenshots.sh

clean: ## Remove build output (tools in the user's cache are kept)
	rm -rf target node_modules
