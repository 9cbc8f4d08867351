# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A four-bar linkage: the torque of its motor, the rate of this torque, and its free swing.

    python examples/09_four_bar.py --picture four_bar.png

Cutting the loop at the pin between coupler and rocker leaves a tree; the pin becomes a
LoopClosure that leaves one rotation free. In a plane, three of its five constraints are redundant.
"""

import argparse

import numpy as np

from multibody_dynamics import dynamics as dyn

CRANK, COUPLER, ROCKER, GROUND = 0.3, 0.8, 0.6, 1.0  # m
SPEED = 6.0  # rad/s, of the crank
STEP, SWING = 0.01, 1.5  # s, of the integration
CORRECTIONS = {  # methods against the drift of the loop
    "none": {},
    "Baumgarte": {"baumgarte": dyn.core.Baumgarte(20.0, 20.0)},  # 1/s
    "projection": {"project": True},
}


def bar(length: float) -> np.ndarray:
    """Inertia of a uniform bar of 2 kg/m from the origin along x."""
    mass = 2.0 * length
    inertia = mass * length**2 / 12 * np.diag([0, 1, 1])
    return dyn.spatial_inertia(mass, (length / 2, 0, 0), inertia)


def four_bar() -> dyn.mechanisms.ConstrainedModel:
    """The linkage in the plane x-y, with gravity along -y and the motor at the crank."""

    def at(x: float) -> np.ndarray:
        return dyn.se3.from_rotation_translation(np.eye(3), (x, 0, 0))

    z = (0, 0, 1)
    tree = dyn.model_from_screws(
        [-1, 0, -1],  # coupler on crank; crank and rocker on the ground
        [dyn.revolute(z, (x, 0, 0)) for x in (0, CRANK, GROUND)],
        [at(0), at(CRANK), at(GROUND)],
        [bar(CRANK), bar(COUPLER), bar(ROCKER)],
        joint_names=["crank", "coupler", "rocker"],
        body_names=["crank_bar", "coupler_bar", "rocker_bar"],
        gravity=(0, -9.81, 0),
        name="four_bar",
    )
    pin = dyn.mechanisms.LoopClosure(
        "pin", "coupler_bar", "rocker_bar", dyn.revolute(z), at(COUPLER), at(ROCKER)
    )
    return dyn.mechanisms.ConstrainedModel(tree, [pin], actuated=["crank"])


def energy(tree: dyn.MultibodyModel, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return dyn.rigid.kinetic_energy(tree, q, qd) + dyn.rigid.potential_energy(tree, q)


def swing(
    system: dyn.mechanisms.ConstrainedModel,
    q: np.ndarray,
    baumgarte: dyn.core.Baumgarte | None = None,
    project: bool = False,
) -> dyn.integration.JointMotion:
    """q and q' (k, n) each, from rest at q (n,), without torque, by the Runge-Kutta method."""
    nothing = np.zeros(system.n)

    def acceleration(t: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        return dyn.mechanisms.constrained_forward_dynamics(
            system, q, qd, nothing, baumgarte=baumgarte
        ).qdd

    def closed(q: np.ndarray, qd: np.ndarray) -> tuple[np.ndarray, ...]:
        return dyn.mechanisms.consistent_motion(system, q, qd)

    return dyn.integration.integrate_joints(
        acceleration, q, nothing, SWING, STEP, project=closed if project else None
    )


def slope_of(values: np.ndarray) -> np.ndarray:
    """The time derivative of a periodic signal, by its Fourier series."""
    harmonics = np.fft.rfftfreq(len(values), 1 / len(values))
    return np.fft.irfft(1j * SPEED * harmonics * np.fft.rfft(values), len(values))


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Returns the relative defects of power and rate, and the gap after a swing, m."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the linkage, torques and errors")
    options = parser.parse_args(arguments)

    system = four_bar()
    tree = system.tree
    angles = np.linspace(0.0, 2 * np.pi, 180, endpoint=False)
    guess = np.stack([angles, 0.9 - angles, np.full_like(angles, 2.0)], axis=1)
    rates = np.zeros((4, *guess.shape))
    rates[0, :, 0] = SPEED
    state = dyn.mechanisms.consistent_motion(system, guess, *rates, fixed=["crank"])  # q ... q''''
    q, qd = state[:2]

    torque = dyn.mechanisms.constrained_inverse_dynamics(system, *state)
    print(f"redundant: {', '.join(torque.redundant)}")
    tau, tau_dot = torque.tau[:, 0], torque.tau_dot[:, 0]
    print(f"peak torque {np.abs(tau).max():.3f} N m, peak rate {np.abs(tau_dot).max():.2f} N m/s")
    power = slope_of(energy(tree, q, qd))
    defects = {
        "power": float(np.abs(tau * SPEED - power).max() / np.abs(power).max()),
        "rate": float(np.abs(tau_dot - slope_of(tau)).max() / np.abs(tau_dot).max()),
    }
    print(f"the motor's power equals the rate of the energy to {defects['power']:.0e}")
    print(f"the computed torque rate equals the slope of the torque to {defects['rate']:.0e}")

    print(f"errors after a free swing of {SWING} s: gap in the loop, and energy")
    errors = {}
    for correction, how in CORRECTIONS.items():
        free = swing(system, q[60], **how)
        gap = np.abs(dyn.mechanisms.constraint_residual(system, free.q)).max(axis=1)
        total = energy(tree, free.q, free.qd)
        errors[correction] = gap, np.abs(total - total[0])
        defects[correction] = float(gap.max())
        print(
            f"  {correction:<11}" + "{:9.1e} m{:14.1e} J".format(*map(np.max, errors[correction]))
        )

    if options.picture:
        from matplotlib import pyplot

        figure, axes = pyplot.subplots(2, 2, figsize=(10, 7), layout="constrained")
        coupler = dyn.frame_pose(tree, q, "coupler_bar")
        joint, pin, point = (
            (coupler @ [x, y, 0, 1])[:, :2] for x, y in ((0, 0), (COUPLER, 0), (COUPLER / 2, 0.2))
        )
        for k in range(0, len(angles), 12):
            line = np.transpose([(0, 0), joint[k], pin[k], (GROUND, 0)])
            axes[0, 0].plot(*line, "-o", ms=3, lw=1, color="#BBBBBB")
        axes[0, 0].plot(*line, "k-o", lw=3)
        axes[0, 0].plot(*point.T, color="#D55E00")
        axes[0, 0].set(aspect="equal")
        axes[0, 0].axis("off")
        degrees = np.degrees(angles)
        axes[0, 1].plot(degrees, tau, label="torque  [N m]")
        axes[0, 1].plot(degrees, tau_dot / SPEED, label="rate / speed  [N m/rad]")
        axes[0, 1].plot(degrees[::6], power[::6] / SPEED, "k.", label="power / speed  [N m]")
        axes[0, 1].set(xlabel="crank  [deg]", xticks=range(0, 361, 90))
        axes[0, 1].legend(
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=3,
            fontsize="small",
            handlelength=1,
            columnspacing=1,
        )
        times = STEP * np.arange(len(gap))
        for axis, what, k in zip(
            axes[1], ("loop open by  [m]", "error of energy  [J]"), (0, 1), strict=True
        ):
            for correction, error in errors.items():
                axis.semilogy(times[1:], np.maximum(error[k][1:], 1e-16), label=correction)
            axis.set(xlabel="time of the free swing  [s]", ylabel=what)
        axes[1, 0].legend()
        for axis in axes.flat[1:]:
            axis.grid(color="#DDDDDD")
        figure.savefig(options.picture)
    return defects


if __name__ == "__main__":
    main()
