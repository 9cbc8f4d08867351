# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""An inverted double pendulum kept upright by one motor: linearisation, LQR, region of attraction.

    python examples/13_lqr_double_pendulum.py --picture pendulum.png

The motor is in the shoulder or in the elbow; the other joint is free. The optimal feedback for the
linearised pendulum is simulated on the nonlinear one, from many initial postures at once.
"""

import argparse

import numpy as np
from scipy.linalg import expm, solve_continuous_are

from multibody_dynamics import dynamics as dyn

JOINTS = ["shoulder", "elbow"]
LENGTH, MASS = 0.5, 1.0  # m, kg of each of the two uniform rods
TORQUE = 20.0  # N m, the limit of the motor
STEP, DURATION = 0.01, 3.0  # s
POSTURES = np.linspace(-40.0, 40.0, 41)  # deg, of either joint
START = {"shoulder": (25.0, -15.0), "elbow": (-5.0, 20.0)}  # deg, of the motions in the picture
UPRIGHT = 1.0  # deg


def double_pendulum() -> dyn.MultibodyModel:
    """Upright at zero, turning about y."""
    axis, top = (0, 1, 0), (0, 0, LENGTH)
    rod = MASS * LENGTH**2 / 12 * np.diag([1, 1, 0])
    elbow = dyn.se3.from_rotation_translation(np.eye(3), top)
    return dyn.model_from_screws(
        [-1, 0],
        [dyn.revolute(axis), dyn.revolute(axis, top)],
        [np.eye(4), elbow],
        [dyn.spatial_inertia(MASS, (0, 0, LENGTH / 2), rod)] * 2,
        joint_names=JOINTS,
        name="double_pendulum",
    )


def feedback(linear: dyn.rigid.LinearModel) -> np.ndarray:
    """K (1, 4) of u = -K x that minimises the integral of q . q + u^2."""
    return linear.B.T @ solve_continuous_are(*linear.matrices[:2], np.diag([1, 1, 0, 0]), np.eye(1))


def simulate(model: dyn.MultibodyModel, motor: str, K: np.ndarray, q: np.ndarray) -> np.ndarray:
    """x = (q, q') (k, ..., 4) from rest at q (..., 2), by the Runge-Kutta method."""
    moved = np.eye(2)[[JOINTS.index(motor)]]

    def acceleration(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        tau = np.clip(-np.concatenate([q, qd], axis=-1) @ K.T, -TORQUE, TORQUE) @ moved
        fallen = np.abs(q).max(axis=-1, keepdims=True) > np.pi  # these need not be simulated
        return np.where(fallen, 0.0, dyn.forward_dynamics(model, q, qd, tau))

    motion = dyn.integration.integrate_joints(acceleration, q, np.zeros_like(q), DURATION, STEP)
    return np.concatenate([motion.q, motion.qd], axis=-1)


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Returns the share of the postures from which each motor brings the pendulum upright."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw where it works, and one motion")
    options = parser.parse_args(arguments)

    model = double_pendulum()
    times = STEP * np.arange(round(DURATION / STEP) + 1)
    postures = np.stack(np.meshgrid(POSTURES, POSTURES, indexing="ij"), axis=-1)
    gains, settled, shares = {}, {}, {}
    for motor in JOINTS:
        linear = dyn.rigid.linearize(model, np.zeros(2), inputs=[motor])
        gains[motor] = K = feedback(linear)
        closed = linear.A - linear.B @ K
        print(f"motor in the {motor}")
        for name, matrix in {"free": linear.A, "with LQR": closed}.items():
            poles = np.sort(np.linalg.eigvals(matrix).real)
            print(f"  poles {name:<10}" + "".join(f"{pole:8.2f}" for pole in poles) + " 1/s")

        x = simulate(model, motor, K, np.array([1e-4, 0.0]))[50]
        predicted = expm(50 * STEP * closed) @ [1e-4, 0.0, 0.0, 0.0]
        difference = np.abs(x - predicted).max() / np.abs(predicted).max()
        print(f"  a small motion of the {motor} differs from the prediction by {difference:.0e}")

        x = simulate(model, motor, K, np.radians(postures))
        away = np.abs(x[..., :2]).max(axis=-1) > np.radians(UPRIGHT)
        settled[motor] = np.where(away[-1], np.nan, STEP * away.sum(axis=0))  # s
        shares[motor] = float(1.0 - away[-1].mean())
        print(
            f"  the pendulum comes upright from {100 * shares[motor]:.0f} % of {away[-1].size} "
            f"postures"
        )

    if options.picture:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(2, 2, figsize=(9, 8), layout="constrained")
        for (region, motion), motor in zip(axes.T, JOINTS, strict=True):
            shown = region.pcolormesh(POSTURES, POSTURES, settled[motor].T, vmin=0, vmax=2.5)
            region.plot(*START[motor], "o", color="#D55E00")
            region.set(title=f"motor in the {motor}", aspect="equal", facecolor="#EEEEEE")
            region.set(xlabel="shoulder at the start  [deg]", ylabel="elbow at the start  [deg]")
            x = simulate(model, motor, gains[motor], np.radians(START[motor]))
            torque = np.clip(-x @ gains[motor].T, -TORQUE, TORQUE)
            for angle, joint in zip(np.degrees(x.T[:2]), JOINTS, strict=True):
                motion.plot(times, angle, label=f"{joint}  [deg]")
            motion.plot(times, torque, "#999999", label="motor  [N m]")
            motion.set(xlabel="time  [s]", xlim=(0, 2.5))
            motion.grid(color="#DDDDDD")
            motion.legend()
        figure.colorbar(shown, ax=axes[0], label="time until upright  [s]")
        figure.savefig(options.picture)
    return shares


if __name__ == "__main__":
    main()
