"""All benchmarks in turn: `make benchmark`, or one of them: `python benchmark/inverse_dynamics.py`."""

import sys

import inverse_dynamics

sys.exit(inverse_dynamics.main())
