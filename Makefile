# Every target does its own set-up; tools are cached outside the checkout.
.DEFAULT_GOAL := help
NODE := node_modules/.bin/node
SYSTEM := $(NODE) dev/src/system/main.ts
STAMP := node_modules/.installed

# Every target that the list shows; none of them is a file.
.PHONY: $(shell sed -nE 's/^([a-z0-9-]+):.*\#\# .*/\1/p' Makefile)

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(STAMP) ## Start everything, onboard tenant acme, send alerts (ALERTS_FILE=… replays a file)
	@$(SYSTEM) demo

up: $(STAMP) ## Start the system in the background; .local/connection.json tells where
	@$(SYSTEM) up

down: $(STAMP) ## Stop exactly what "make up" or "make demo" has started
	@$(SYSTEM) down

reset: $(STAMP) ## Stop and remove all data of this checkout's system
	@$(SYSTEM) reset

test: $(STAMP) ## Run every test: unit, system (PostgreSQL, control plane), end to end
	@$(NODE) scripts/test.ts

test-unit: $(STAMP) ## Run the tests that need nothing
	@$(NODE) scripts/test.ts --project unit

test-system: $(STAMP) ## Run the tests against a real PostgreSQL and a real control plane
	@$(NODE) scripts/test.ts --project system

e2e: $(STAMP) ## Run the whole-system scenarios
	@$(NODE) scripts/test.ts --project e2e

e2e-kind: $(STAMP) ## Run the scenarios on the installed images in a kind cluster (KEEP=1 leaves it; needs Docker, kind)
	@$(NODE) scripts/e2e-kind.ts

verify: $(STAMP) ## Format, lint, types, import rules, generated files, charts
	@$(NODE) scripts/verify.ts

charts: $(STAMP) ## Lint and render the charts, check what comes out (schemas, practices)
	@$(NODE) scripts/charts.ts

format: $(STAMP) ## Format the code
	@npm run --silent format

generate: $(STAMP) ## Write the generated files anew
	@$(NODE) scripts/generate.ts

drill-absence: $(STAMP) ## Show that 1000 tenants lose nothing to an empty, wrong or absent database (ABSENCE_FLEET=…)
	@ABSENCE_FLEET=$${ABSENCE_FLEET:-1000} $(NODE) scripts/test.ts --project system -- api/test/jobs/absence -t absence

drill-busy: $(STAMP) ## Show that 50 tenants that never become ready do not slow the next one down (BUSY_TENANTS=…)
	@BUSY_TENANTS=$${BUSY_TENANTS:-50} $(NODE) scripts/test.ts --project system -- operator/test/busy

drill-crash: $(STAMP) ## Kill API and operator at every named moment of a tenant's way, ten times each
	@$(NODE) dev/src/drills/crash.ts --rounds 10

drill-isolation: $(STAMP) ## Share a pool of two among ten tenants through every failure: no foreign row
	@$(NODE) dev/src/drills/isolation.ts

drill-kind: $(STAMP) ## Take pods and the node of an installed system away: nothing lost, nothing changed (needs Docker, kind; 20 minutes)
	@$(NODE) dev/src/drills/kind.ts

drill-leader: $(STAMP) ## Kill, end and stop the leading operator; what follows, and what it still sends (5 minutes)
	@$(NODE) dev/src/drills/leader.ts

drill-login: $(STAMP) ## Guess passwords: nothing tells known accounts from unknown ones, and nothing stands still
	@$(NODE) dev/src/drills/login.ts

drill-postgres: $(STAMP) ## Break the database driver's connections in every way (minutes)
	@$(NODE) dev/src/drills/postgres.ts

drill-tenants: $(STAMP) ## Create 10 tenants at once, then 50 on simulated nodes: time, CPU, memory, requests (Linux)
	@$(NODE) dev/src/drills/tenants.ts --tenants 10 --nodes local
	@$(NODE) dev/src/drills/tenants.ts --tenants 50 --nodes simulated

drill-watch: $(STAMP) ## Show that a quiet, healthy watch is left alone (10 minutes)
	@$(NODE) dev/src/drills/quiet-watch.ts

fuzz-api: $(STAMP) ## Call the API as everybody with what its OpenAPI document allows and forbids (minutes; needs Python 3.11)
	@$(NODE) dev/src/drills/fuzz-api.ts

images: $(STAMP) ## Build the container images (needs Docker; NODE_BASE_IMAGE chooses the base)
	@$(NODE) dev/src/images/main.ts

tools: $(STAMP) ## Build the control plane and helm into the cache
	@$(SYSTEM) tools

$(STAMP): package.json package-lock.json $(wildcard */package.json) $(wildcard patches/*)
	@command -v npm >/dev/null || { echo "npm is missing: install Node.js 20 or newer with npm 10 or newer" >&2; exit 1; }
	@echo "Installing the dependencies"
	@npm ci --no-progress --prefer-offline --loglevel=error
	@touch $@
