# Everything a person does here. The work is in scripts/; each target first installs what it needs and is missing.
SHELL := /bin/bash
ENV := . scripts/env.sh

.PHONY: help setup demo dev test lint fmt test-rust end2end soak baselines bench measure-ui test-release release screenshots clean

help: ## Show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | awk -F '\t' '{ printf "  make %-12s %s\n", $$1, $$2 }'

setup: ## Install everything the other targets need
	@scripts/setup.sh test

demo: ## Build and show the console on made-up clients and real Redis servers (ARGS="--listen 127.0.0.1:9000")
	@scripts/demo.sh $(ARGS)

dev: ## Run the console and rebuild it on every edit (ARGS="demo" to run something other than "serve")
	@scripts/setup.sh dev
	@$(ENV) && PATH="$$repo/scripts/watch:$$PATH" exec cargo-leptos watch -- $(or $(ARGS),serve)

test: ## Check and test everything; ends with "N passed, N failed"
	@scripts/test.sh

lint: ## Formatting, clippy for both halves, licences of dependencies, documentation links
	@scripts/test.sh lint

fmt: ## Format the Rust sources
	@scripts/setup.sh lint
	@$(ENV) && cargo fmt

test-rust: ## The Rust tests alone
	@scripts/test.sh rust

end2end: ## The browser tests alone
	@scripts/test.sh end2end

baselines: ## Take the pictures anew that the browser tests compare pages with (end2end/pictures), to be looked at before they are committed
	@scripts/setup.sh test
	@$(ENV) && cargo-leptos build --frontend-only --release --split -P && cargo build --features ssr && \
		npm run --silent end2end -- pictures.spec.ts --update-snapshots

soak: ## Storms of faults and of senseless input for long (SOAK=600 seconds): real servers, the simulation, 20,000 jobs, fuzzers
	@scripts/setup.sh test
	@$(ENV) && PROPTEST_CASES=$$(( $(or $(filter-out 0,$(SOAK)),600) * 100 )) cargo test --features "$$features" --lib --test tests -- whatever
	@$(ENV) && LOCKKEEPER_SOAK_SECONDS=$(or $(filter-out 0,$(SOAK)),600) LOCKKEEPER_SOAK_JOBS=20000 \
		cargo test --features "$$features" --test tests -- --nocapture soak:: storm:: simulation:: cli::cron touches:: schemathesis::

bench: ## Measure how many locks one console keeps up with (ARGS="--quick", ARGS="--help")
	@scripts/setup.sh bench
	@$(ENV) && cargo build --release --features "$$features" --bins --example bench && exec "$$target/release/examples/bench" $(ARGS)

measure-ui: ## Measure the first page's weight and the overview with 100,000 locks in Chromium (LOCKS=, CHANGES= per second, MINUTES=, ARGS=weight)
	@scripts/setup.sh test
	@$(ENV) && cargo-leptos build --release --split -P && scripts/weight.sh && LOCKKEEPER_MEASURE=1 LOCKKEEPER_BIN="$$target/release/lockkeeper" npm run --silent end2end -- $(ARGS)

test-release: ## Build the executable that is shipped and try it in the browser, and weigh its first page
	@scripts/setup.sh test
	@$(ENV) && cargo-leptos build --release --split -P && scripts/weight.sh && LOCKKEEPER_RELEASE=1 LOCKKEEPER_BIN="$$target/release/lockkeeper" npm run --silent end2end -- $(ARGS)

release: ## Build the one executable that is shipped and its archive, and show what a browser downloads first
	@scripts/release.sh

screenshots: ## Take the pictures of the documentation from the demo, into .github/pictures
	@scripts/screenshots.sh

clean: ## Remove what was built here (the shared tools in the user's cache stay)
	rm -rf target node_modules
