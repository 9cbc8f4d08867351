"""All benchmarks in turn: `make benchmark`. One of them: `python benchmark/inverse_dynamics.py`."""

import sys

import inverse_dynamics

sys.exit(inverse_dynamics.main())
