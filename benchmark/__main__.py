"""All benchmarks in turn: `make benchmark`. One of them: `python benchmark/inverse_dynamics.py`."""

import sys

import inverse_dynamics
import operations

print("multiplications + additions per joint, counted from the recursions\n")
print(operations.table(), end="\n\n")
sys.exit(inverse_dynamics.main())
