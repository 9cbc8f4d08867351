# The two commands: make demo, make test. Both make their own environment, see scripts/environment.sh.
RUN := scripts/environment.sh
# One thread of BLAS each: several in two processes wait for one another, ten times as long.
PYTEST := OPENBLAS_NUM_THREADS=1 $(RUN) python -m pytest --timeout 300

.PHONY: help docs demo demo-mujoco test lint benchmark clean

help:
	@echo "make demo         run the arm with elastic joints over ROS 2 and write a report"
	@echo "make demo-mujoco  the closed loop alone, with MuJoCo as the robot"
	@echo "make test         check the style and types, and run every test"
	@echo "make docs         build the documentation site in build/site"
	@echo "make lint         the first part of it: style and types"
	@echo "make benchmark    measure the dynamics beside Pinocchio"
	@echo "make clean        remove the environment and whatever was built"
	@echo "ARGS=... hands arguments on to the demos and the benchmark: make demo ARGS=--help"

demo:
	$(RUN) multibody_dynamics demo $(ARGS)

demo-mujoco:
	$(RUN) multibody_dynamics demo --compare controllers --plant mujoco $(ARGS)

# Tests with ROS nodes run alone: they need the processor in time.
test: lint
	$(PYTEST) -m "not ros" -n 2
	$(PYTEST) -m ros

docs:
	$(RUN) python -m sphinx -q -W --keep-going -b html docs build/site
	@echo "open build/site/index.html"

lint:
	$(RUN) ruff check
	$(RUN) mypy

benchmark:
	$(RUN) python benchmark $(ARGS)

clean:
	rm -rf .venv build demo_report dist install log *.egg-info .hypothesis .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
