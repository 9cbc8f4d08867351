# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Rigid bodies from a YAML file, integrated on both groups: open joints, energy, states.

    python examples/21_bodies_from_a_file.py three_bar_linkage --picture errors.png
    python examples/21_bodies_from_a_file.py SYSTEM.yaml --duration 2 --step 2e-4 --output states

The system is a file, a slider-crank by default, or one of the examples of `dyn.integration`. The
states of each group are written to a NumPy archive.
"""

import argparse
from pathlib import Path

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory

GROUPS = {"SE3": "SE(3)", "SO3xR3": "SO(3) x R^3"}
ALPHA = "generalized_alpha"  # implicit, with a constant step
CRANK = share_directory() / "config" / "systems" / "slider_crank.yaml"
ARRAYS = ("time", "pose", "velocity", "constraint", "reaction", "energy", "momentum")


def load(source: str) -> dyn.integration.AbsoluteSystem:
    """An example of the library by its name, or a system from a YAML file."""
    systems = dyn.integration.examples.SYSTEMS
    return systems[source]() if source in systems else dyn.integration.load_system(source)


def solve(
    system: dyn.integration.AbsoluteSystem, options: argparse.Namespace
) -> dyn.integration.Integration:
    """Integrate a system as the options say."""
    start = None
    if options.project:  # the initial state, too
        start = dyn.integration.project_state(system, system.initial_pose, system.initial_velocity)
    if options.method == ALPHA:
        return dyn.integration.generalized_alpha(
            system, options.duration, options.step, start=start
        )
    rate, tolerance = options.baumgarte, options.tolerance
    return dyn.integration.integrate(
        system,
        options.duration,
        options.step,
        options.method,
        start=start,
        tolerances=dyn.integration.Tolerances(tolerance, tolerance / 100) if tolerance else None,
        baumgarte=dyn.core.Baumgarte(rate, rate) if rate else None,
        project=options.project,
    )


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("system", nargs="?", default=str(CRANK), help="YAML file, or an example:"
                        f" {', '.join(dyn.integration.examples.SYSTEMS)}")  # fmt: skip
    parser.add_argument("--duration", type=float, default=0.5, help="s (%(default)s)")
    parser.add_argument("--step", type=float, default=1e-3, help="s (%(default)s)")
    parser.add_argument("--method", default="rk4", help=f"euler, ..., dormand_prince, or {ALPHA}")
    parser.add_argument("--tolerance", type=float, help="for adaptive steps of dormand_prince")
    parser.add_argument("--baumgarte", type=float, help="stabilise constraints at this rate, 1/s")
    parser.add_argument("--project", action="store_true",
                        help="project start and steps onto the constraints")  # fmt: skip
    parser.add_argument("--picture", metavar="FILE", help="draw open joints and energy over time")
    parser.add_argument("--output", metavar="FOLDER", type=Path, help="write the states here")
    options = parser.parse_args(arguments)

    system, results = load(options.system), {}
    works = system.applied_wrenches.any() or any(spring.damping for spring in system.springs)
    print(f"{system.name}: energy should {'change, as dampers work' if works else 'stay constant'}")
    for group, title in GROUPS.items():
        results[group] = result = solve(system.with_group(group), options)
        worst, energy = result.constraint.max(axis=0), result.energy
        joints = (f"{j} {x:.1e}" for j, x in zip(system.joint_names, worst, strict=True))
        print(f"  {title:<12}open by at most, m or rad: {', '.join(joints)}")
        print(f"  {'':<12}energy {energy[0]:.6f} J, at the end {energy[-1] - energy[0]:+.1e} J; "
              f"{result.steps} steps")  # fmt: skip
        if options.output:
            options.output.mkdir(parents=True, exist_ok=True)
            arrays = {name: getattr(result, name) for name in ARRAYS}
            names = {"body_names": system.body_names, "joint_names": system.joint_names}
            np.savez_compressed(options.output / f"states_{group}.npz", **arrays, **names)
    apart = np.abs(results["SE3"].pose[-1] - results["SO3xR3"].pose[-1]).max()
    print(f"poses at the end differ by {apart:.1e}")

    if options.picture:
        from matplotlib import pyplot

        figure, (upper, lower) = pyplot.subplots(2, 1, figsize=(8, 6), layout="constrained")
        for (group, result), style in zip(results.items(), ("-", "--"), strict=True):
            upper.set_prop_cycle(None)
            for joint, values in zip(system.joint_names, result.constraint.T, strict=True):
                label = f"{joint}, {GROUPS[group]}"
                upper.semilogy(result.time, np.maximum(values, 1e-18), style, label=label)
            lower.plot(result.time, result.energy, style, label=GROUPS[group])
        upper.set(ylabel="open by  [m, rad]", title=system.name)
        lower.set(ylabel="energy  [J]", xlabel="time  [s]")
        for axis in (upper, lower):
            axis.grid(color="#DDDDDD")
            axis.legend(fontsize=7)
        figure.savefig(options.picture)


if __name__ == "__main__":
    main()
