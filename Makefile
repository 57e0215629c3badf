# Copyright (c) 2026 The llmops.sglang contributors
# SPDX-License-Identifier: GPL-3.0-or-later

WITH_TOOLS = @tests/setup/with_tools.sh

.PHONY: help tools demo demo-quick demo-picture test test-real test-long faults performance docs release-notes lock clean

help:
	@echo "make demo        the main job on a real SGLang server (the first time it installs that server)"
	@echo "make demo-quick  the same on the stand-in server, and three lies being caught"
	@echo "make test        all checks; FULL=1 installs the real servers if they are not there"
	@echo "make test-real   only the real servers"
	@echo "make test-long   what is too long for make test"
	@echo "make docs        build the documentation's site into .build/docs"
	@echo "make release-notes  write what the fragments say of the next release into .build/CHANGELOG.md"
	@echo "make faults       cause every fault of docs' page of faults, about half an hour, and write that page"
	@echo "make performance  measure what the collection costs, and write docs/performance.md"
	@echo "make demo-picture  record the quick demo, and make the picture of it in README.md"
	@echo "make tools       only install what the other targets need"
	@echo "make lock        renew the lock files of the tools"
	@echo "make clean       remove what was built in this clone"

tools:
	$(WITH_TOOLS) true

demo:
	$(WITH_TOOLS) python tests/demo/run.py

demo-quick:
	$(WITH_TOOLS) python tests/demo/run.py --quick

demo-picture:
	@mkdir -p .build
	$(WITH_TOOLS) python tests/demo/run.py --quick >.build/demo.log
	$(WITH_TOOLS) python tests/tools/terminal_picture.py .build/demo.log docs/demo.svg

test:
	$(WITH_TOOLS) python tests/run.py

test-real:
	$(WITH_TOOLS) python tests/run.py --only real

test-long:
	$(WITH_TOOLS) python tests/run.py --long

docs:
	@LLMOPS_SGLANG_TOOLS=docs tests/setup/with_tools.sh docs/site/build.sh

release-notes:
	$(WITH_TOOLS) python tests/tools/release_notes.py

faults:
	$(WITH_TOOLS) python tests/tools/fault_page.py

performance:
	$(WITH_TOOLS) python tests/perf/write_page.py

lock:
	@tests/setup/lock.sh

clean:
	rm -rf .build collections tests/output
