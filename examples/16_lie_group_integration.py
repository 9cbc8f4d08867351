# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Heavy top and double pendulum in absolute coordinates: the effect of the group.

    python examples/16_lie_group_integration.py --picture groups.png

[MT13]: on SE(3) a joint between a body and the ground stays closed, because its motions form a
subgroup that the integration never leaves; between two moving bodies neither group keeps a joint
closed. Using SE(3) for the body at the ground and the cheaper SO(3) x R^3 for the other is as good
as SE(3) for both.
"""

import argparse

import numpy as np

from multibody_dynamics import dynamics as dyn

STEP, DURATION = 1e-3, 1.0  # s
CHOICES = {
    "SE(3)": "SE3",
    "SO(3) x R^3": "SO3xR3",
    "one each": {"link_1": "SE3", "link_2": "SO3xR3"},
}


def main(arguments: list[str] | None = None) -> dict[tuple[str, str], list[float]]:
    """Returns the largest violation of each joint, m, for each system and group."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the violations over time")
    options = parser.parse_args(arguments)

    runs, worst = {}, {}
    for system in (
        dyn.integration.examples.heavy_top,
        dyn.integration.examples.spherical_double_pendulum,
    ):
        print(f"{system.__name__}: RK4, {DURATION:g} s in steps of {1e3 * STEP:g} ms")
        for choice, group in CHOICES.items():
            if isinstance(group, dict) and system is dyn.integration.examples.heavy_top:
                continue
            result = dyn.integration.integrate(system(group), DURATION, STEP)
            runs[system.__name__, choice] = result
            worst[system.__name__, choice] = [float(x) for x in result.constraint.max(axis=0)]
            drift = np.abs(result.energy - result.energy[0]).max()
            joints = "".join(
                f"{joint:>14} {x:7.1e} m"
                for joint, x in zip(
                    result.system.joint_names, worst[system.__name__, choice], strict=True
                )
            )
            print(f"  {choice:<12}{joints}   energy {drift:7.1e} J")

    pendulum = dyn.integration.examples.spherical_double_pendulum("SO3xR3")
    closed = dyn.integration.integrate(pendulum, DURATION, STEP, project=True)
    print(f"projected after every step, on SO(3) x R^3: {closed.constraint.max():.1e} m")
    exact, rough = (
        dyn.integration.integrate(
            pendulum, 0.1, 0.1, "dormand_prince", tolerances=dyn.integration.Tolerances(x, x / 100)
        )
        for x in (1e-12, 1e-6)
    )
    error = np.abs(exact.pose[-1] - rough.pose[-1]).max()
    print(f"Dormand-Prince with a tolerance of 1e-06: {rough.steps} steps, error {error:.1e}")

    if options.picture:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(3, 1, figsize=(8, 8), sharex=True, layout="constrained")
        styles = dict(zip(CHOICES, ("-", "--", ":"), strict=True))
        for (name, choice), result in runs.items():
            first = 0 if name == "heavy_top" else 1
            for k, joint in enumerate(result.system.joint_names):
                axis = axes[first + k]
                values = np.maximum(result.constraint[:, k], 1e-18)
                axis.semilogy(result.time, values, styles[choice], lw=1.5, label=choice)
                axis.set(title=f"{name.replace('_', ' ')}: {joint}", ylabel="violation  [m]")
                axis.grid(color="#DDDDDD")
                axis.legend()
        axes[-1].set(xlabel="time  [s]")
        figure.savefig(options.picture)
    return worst


if __name__ == "__main__":
    main()
