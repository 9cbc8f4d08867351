# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A load on the rope of a crane: the trolley's acceleration is prescribed, the load swings freely.

    python examples/12_passive_pendulum.py --picture crane.png

Hybrid dynamics takes the acceleration or the torque of each joint and computes the other. If the
trolley moves from rest to rest, the load keeps swinging. To move the load along y instead, the
trolley must be close to x = y + L/g y'', with the length L of the equivalent pendulum. Its
acceleration y'' + L/g y'''' requires a motion y(t) whose fourth derivative exists and vanishes at
both ends.
"""

import argparse

import numpy as np

from multibody_dynamics import dynamics as dyn

TROLLEY, LOAD, ROPE, INERTIA = 40.0, 100.0, 2.0, 5.0  # kg, kg, m to the load's centre, kg m^2
GRAVITY = 9.81  # m/s^2
SWINGING_LENGTH = ROPE + INERTIA / (LOAD * ROPE)  # m, length of the equivalent pendulum
DISTANCE, DURATION = 3.0, 3.0  # m, s
STEP = 0.01  # s, of the integration
MOVES = ("trolley from rest to rest", "trolley ahead of the load")


def crane() -> dyn.MultibodyModel:
    """The trolley moves along x; the rope stays taut and hangs straight down at q = 0."""
    return dyn.model_from_screws(
        [-1, 0],
        [dyn.prismatic((1, 0, 0)), dyn.revolute((0, -1, 0))],
        [np.eye(4), np.eye(4)],
        [
            dyn.spatial_inertia(TROLLEY, (0, 0, 0), np.zeros((3, 3))),
            dyn.spatial_inertia(LOAD, (0, 0, -ROPE), INERTIA * np.eye(3)),
        ],
        joint_names=["trolley", "rope"],
        gravity=(0, 0, -GRAVITY),
        name="crane",
    )


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Returns the residual swing, rad, and the relative difference from the closed form."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw swing and force of both moves")
    options = parser.parse_args(arguments)

    model = crane()
    motion = dyn.interpolate(["load"], times=[0.0, DURATION], positions=[[0.0], [DISTANCE]])

    def dynamics(t: float, q: np.ndarray, qd: np.ndarray) -> dyn.rigid.HybridDynamics:
        """The accelerations of both moves at once, for q, q' (2, 2)."""
        _, _, y_ddot, _, y_ddddot = motion(t)[:, 0]
        acceleration = np.array([y_ddot, y_ddot + SWINGING_LENGTH / GRAVITY * y_ddddot])
        qdd = np.stack([acceleration, [np.nan, np.nan]], axis=1)  # that of the rope is computed
        return dyn.hybrid_dynamics(model, q, qd, prescribed=["trolley"], qdd=qdd, tau=np.zeros(2))

    start = np.zeros((2, 2))  # of two moves, of two joints
    moves = dyn.integration.integrate_joints(
        lambda t, q, qd: dynamics(t, q, qd).qdd, start, start, 3 * DURATION, STEP
    )
    times, q, qd = moves.time, moves.q, moves.qd
    qdd, force = map(np.array, zip(*map(dynamics, times, q, qd), strict=True))
    force = force[..., 0]

    # The closed form, for the trolley at x and the rope at the angle a to the vertical.
    a, a_dot, x_ddot = q[..., 1], qd[..., 1], qdd[..., 0]
    a_ddot = -(x_ddot * np.cos(a) + GRAVITY * np.sin(a)) / SWINGING_LENGTH
    expected = TROLLEY * x_ddot
    expected += LOAD * (x_ddot + ROPE * (a_ddot * np.cos(a) - a_dot**2 * np.sin(a)))
    difference = float(np.abs(force - expected).max() / np.abs(expected).max())
    print(f"the force on the trolley equals the closed form to {difference:.0e}")

    results = {"difference": difference}
    for k, move in enumerate(MOVES):
        swing, peak = np.abs(a[times > DURATION, k]).max(), np.abs(force[:, k]).max()
        end = f"{q[-1, k, 0]:.3f} m in {DURATION} s, peak {peak:.0f} N"
        print(f"{move:<27}{end}, then swings by {np.degrees(swing):6.2f} deg")
        results[move] = float(swing)

    if options.picture:
        from matplotlib import pyplot

        figure, axes = pyplot.subplot_mosaic(
            [[0, 1], ["angle", "angle"], ["force", "force"]], figsize=(8, 8), layout="constrained"
        )
        for k, colour in enumerate(("#D55E00", "#0072B2")):
            axes["angle"].plot(times, np.degrees(a[:, k]), colour)
            axes["force"].plot(times, force[:, k], colour)
            for x, angle in q[:420:12, k]:
                load = x + ROPE * np.sin(angle), -ROPE * np.cos(angle)
                axes[k].plot([x, load[0]], [0.0, load[1]], color=colour, lw=0.6)
                axes[k].plot(*load, "o", ms=6, color=colour, alpha=0.5)
            axes[k].set(title=MOVES[k], aspect="equal", xlim=(-0.5, 5.0))
            axes[k].axis("off")
        for name, unit in {"angle": "deg", "force": "N"}.items():
            axes[name].axvline(DURATION, color="#999999", ls="--")
            axes[name].set(xlabel="time  [s]", ylabel=f"{name}  [{unit}]")
            axes[name].grid(color="#DDDDDD")
        figure.savefig(options.picture)
    return results


if __name__ == "__main__":
    main()
