# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

# The two main commands: make demo, make test. Both create their environment, see scripts/environment.sh.
RUN := scripts/environment.sh
# One BLAS thread per process: with more, two processes block each other and take ten times as long.
# Bytecode is kept even where the environment forbids it: tests start hundreds of processes.
PYTEST := OPENBLAS_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE= $(RUN) python -m pytest --timeout 900 --durations 15

.PHONY: help docs demo demo-mujoco test pythons coverage lint benchmark clean

help:
	@echo "make demo         run the arm with elastic joints over ROS 2 and write a report"
	@echo "make demo-mujoco  run only the control laws, with MuJoCo as the robot"
	@echo "make test         check the style and types, and run every test"
	@echo "make pythons      run some of the tests with every other Python of this computer, 3.10 to 3.14"
	@echo "make coverage     run every test, and count lines and branches, also of node processes"
	@echo "make docs         build the documentation site in build/site"
	@echo "make lint         the first part of test: style and types"
	@echo "make benchmark    time the dynamics in comparison with Pinocchio"
	@echo "make clean        remove the environment and all build products"
	@echo "ARGS=... passes arguments to the demos and the benchmark: make demo ARGS=--help"

demo:
	$(RUN) --demo multibody_dynamics demo $(ARGS)

demo-mujoco:
	$(RUN) --demo multibody_dynamics demo --compare controllers --plant mujoco $(ARGS)

# Tests with ROS nodes run by themselves: others that compile for seconds would hold them up.
# They mostly wait: three at a time keep two cores busy. The longest start first, see LONGEST in
# test/conftest.py, and each process takes the next one when it is free. A process that hangs in the
# middleware, where no signal reaches Python, is ended.
test: lint
	$(PYTEST) -m "not ros" -n 2 --dist worksteal
	$(PYTEST) -m ros -n 3 --maxschedchunk 1 --timeout 600 --timeout-method thread

pythons:
	scripts/pythons.sh

# Nodes in processes of their own are measured as well: setup.cfg has the settings.
coverage:
	rm -rf build/coverage
	-$(RUN) coverage run -m pytest --timeout 1800 -n 2 -m "not ros" $(ARGS)
	-$(RUN) coverage run -m pytest --timeout 1800 -n 2 -m ros $(ARGS)
	$(RUN) coverage combine --quiet
	$(RUN) coverage html --quiet
	$(RUN) coverage report --include "*/nodes/*" --fail-under 90
	$(RUN) coverage report
	@echo "open build/coverage/html/index.html"

docs:
	$(RUN) python -m sphinx -q -W --keep-going -b html docs build/site
	@echo "open build/site/index.html"

lint:
	$(RUN) ruff format --check
	$(RUN) ruff check
	$(RUN) mypy
	$(RUN) lint-imports

benchmark:
	$(RUN) python benchmark $(ARGS)

clean:
	rm -rf .venv build demo_report dist install log *.egg-info .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
