# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A thrown box that tumbles about its intermediate axis, and a linkage that closes on itself.

    python examples/17_momenta_of_floating_bodies.py --picture tumbling.png

The tumbling box (the Dzhanibekov effect) is integrated by its spatial momentum, [M18d] (36), which
is constant without a wrench, and by its velocities, whose momentum drifts. The spherical three-bar
linkage of [MT13] is a closed loop of constraints; in joint coordinates it has three joints.
"""

import argparse

import numpy as np

from multibody_dynamics import dynamics as dyn

STEP, DURATION = 5e-3, 6.0  # s
MOMENTS = (0.02, 0.03, 0.04)  # kg m^2


def tumbling_box() -> dyn.integration.AbsoluteSystem:
    """A box without gravity that rotates about an axis close to its intermediate one."""
    M = dyn.spatial_inertia(1.0, np.zeros(3), np.diag(MOMENTS))
    box = dyn.integration.RigidBody("box", M, omega=(1e-3, 8.0, 0.0), velocity=(0.2, 0.0, 0.1))
    return dyn.integration.AbsoluteSystem([box], gravity=np.zeros(3), name="tumbling_box")


def in_joint_coordinates(system: dyn.integration.AbsoluteSystem) -> dyn.MultibodyModel:
    """The three-bar linkage as a tree: the triangle turns about its base, each bar about itself."""
    bars = system.initial_pose
    axes = [dyn.revolute(pose[:3, 0], pose[:3, 3]) for pose in bars]
    inertias = [np.zeros((6, 6)), *(body.inertia for body in system.bodies)]
    triangle = dyn.revolute((1, 0, 0))
    return dyn.model_from_screws([-1, 0, 0], [triangle, *axes], [np.eye(4), *bars], inertias)


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Returns the drift of momentum by both methods, and the difference of the two linkages."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the tumbling and the drifts")
    options = parser.parse_args(arguments)

    box = tumbling_box()
    runs = {
        "velocities": dyn.integration.integrate(box, DURATION, STEP),
        "momenta": dyn.integration.integrate_momenta(box, DURATION, STEP),
    }
    results = {}
    for method, run in runs.items():
        results[method] = float(np.abs(run.momentum - run.momentum[0]).max())
        energy = np.abs(run.energy / run.energy[0] - 1).max()
        print(f"by {method:<11}momentum drifts by {results[method]:.1e}, energy by {energy:.1e}")

    linkage = dyn.integration.examples.three_bar_linkage()
    tight = dyn.integration.Tolerances(1e-11, 1e-13)
    how = {"method": "dormand_prince", "tolerances": tight}
    absolute = dyn.integration.integrate(linkage, 0.5, 0.01, **how)
    tree = in_joint_coordinates(linkage)
    motion = dyn.integration.integrate_tree(tree, np.zeros(3), [5.0, 20.0, -30.0], 0.5, 0.01, **how)
    poses = dyn.forward_kinematics(tree, motion.q).pose[:, 1:]
    results["linkage"] = float(np.abs(absolute.pose - poses).max())
    print(f"linkage: absolute and joint coordinates differ by {results['linkage']:.1e} in 0.5 s")
    pull = np.linalg.norm(absolute.reaction[:, 1, 3:], axis=-1)
    print(f"the apex transmits up to {pull.max():.1f} N")

    if options.picture:
        from matplotlib import pyplot

        figure, (turning, drift) = pyplot.subplots(2, 1, figsize=(8, 6), layout="constrained")
        turning.plot(runs["momenta"].time, runs["momenta"].velocity[:, 0, :3])
        turning.set(ylabel="angular velocity, body axes  [rad/s]")
        for method, run in runs.items():
            change = np.abs(run.momentum - run.momentum[0]).max(axis=1)
            drift.semilogy(run.time, np.maximum(change, 1e-18), label=f"by {method}")
        drift.set(xlabel="time  [s]", ylabel="drift of momentum  [kg m²/s, kg m/s]")
        drift.legend()
        for axis in (turning, drift):
            axis.grid(color="#DDDDDD")
        figure.savefig(options.picture)
    return results


if __name__ == "__main__":
    main()
