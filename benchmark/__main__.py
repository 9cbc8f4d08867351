"""All benchmarks in turn: `make benchmark`. One of them: `python benchmark/inverse_dynamics.py`."""

import constrained
import derivatives
import forward_dynamics
import harness
import integration
import inverse_dynamics
import inverse_kinematics
import operations
import scaling

import validation

options = harness.arguments(__doc__)
print(harness.surroundings())
print("\nmultiplications + additions per joint, counted from the recursions\n")
print(operations.table())
for benchmark in (
    inverse_dynamics,
    forward_dynamics,
    derivatives,
    scaling,
    constrained,
    integration,
    inverse_kinematics,
    validation,
):
    benchmark.run(options)
