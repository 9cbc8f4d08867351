"""All benchmarks: `make benchmark`. A single one: `python benchmark/inverse_dynamics.py`."""

import argparse

import constrained
import derivatives
import forward_dynamics
import harness
import integration
import inverse_dynamics
import inverse_kinematics
import operations
import scaling
import specialised

import validation

BENCHMARKS = (
    inverse_dynamics,
    specialised,
    forward_dynamics,
    derivatives,
    scaling,
    constrained,
    integration,
    inverse_kinematics,
    validation,
)


def run(options: argparse.Namespace) -> None:
    print(f"\n{operations.HEAD}\n")
    print(operations.table())
    for benchmark in BENCHMARKS:
        benchmark.run(options)


if __name__ == "__main__":
    harness.main(run, __doc__)
