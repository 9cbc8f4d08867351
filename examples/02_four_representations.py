# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""One motion of a hand in four representations: twist to jounce, Jacobians, and the same Q in all.

    python examples/02_four_representations.py

docs/symbols.md explains the spatial, body, hybrid and mixed representations.
"""

import argparse

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory

ROBOT = share_directory() / "config" / "robots" / "panda.urdf"
HAND = "panda_link7"


def main(arguments: list[str] | None = None) -> float:
    """Returns the largest difference between the four Q'', relative to the largest Q''."""
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args(arguments)
    model = dyn.load_urdf(ROBOT)
    hand = model.body_index(HAND)
    state = np.random.default_rng(1).uniform(-1.0, 1.0, (5, model.n))  # q, q', ..., q''''
    q, qd, qdd = state[:3]

    torques = []
    for representation in dyn.REPRESENTATIONS:
        motion = dyn.forward_kinematics(model, *state, representation=representation)
        print(f"{representation:<12}   {'angular':^27}{'linear':^27}".rstrip())
        for name in ("twist", "acceleration", "jerk", "jounce"):
            print(f"  {name:<12}" + "".join(f"{x:9.4f}" for x in getattr(motion, name)[hand]))

        # Each representation has its own Jacobian, V = J q', and V' = J q'' + J' q'.
        J = dyn.jacobian(model, q, HAND, representation=representation)
        J_dot = dyn.jacobian_dot(model, q, qd, HAND, representation=representation)
        np.testing.assert_allclose(J @ qd, motion.twist[hand], atol=1e-12)
        np.testing.assert_allclose(J @ qdd + J_dot @ qd, motion.acceleration[hand], atol=1e-12)
        torques.append(dyn.inverse_dynamics(model, *state, representation=representation).tau_ddot)

    # Which linear part is the acceleration of the hand? Differentiate its position twice:
    h = 1e-4
    path = [q - h * qd + h**2 / 2 * qdd, q, q + h * qd + h**2 / 2 * qdd]
    before, now, after = dyn.frame_pose(model, path, HAND)[:, :3, 3]
    print("  r''" + " " * 36 + "".join(f"{x:9.4f}" for x in (before - 2 * now + after) / h**2))
    print("as in hybrid and mixed; the spatial one belongs to the body point at the origin")

    difference = np.ptp(torques, axis=0).max() / np.abs(torques).max()
    print(f"all four give the same torques: Q'' to {difference:.0e}")
    return float(difference)


if __name__ == "__main__":
    main()
