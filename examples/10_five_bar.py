# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A five-bar linkage with one, two and three motors: which motions and torques each choice allows.

    python examples/10_five_bar.py --picture five_bar.png

The linkage has two degrees of freedom. One motor cannot impose a motion: hybrid dynamics prescribes
the joint of the motor and lets the others move. With two motors, the torques are unique. Three
motors can work against each other: [K12] 3.1 finds the torques of minimum norm, or those for which
the force in the closed loop is a minimum.
"""

import argparse
from typing import Any

import numpy as np
from scipy.integrate import simpson

from multibody_dynamics import dynamics as dyn

UPPER, LOWER, BASE = 0.3, 0.45, 0.3  # m, the bars of either arm, and the distance of the shoulders
JOINTS = ["left_shoulder", "left_elbow", "right_shoulder", "right_elbow"]
SHOULDERS = ["left_shoulder", "right_shoulder"]
MEAN, AMPLITUDE, PHASE = np.radians([[-150.0, -30.0], [20.0, 15.0], [0.0, 60.0]])  # of SHOULDERS
PERIOD, STEP = 0.6, 0.0025  # s, of the motion and of the integration
COLOURS = ("#D55E00", "#0072B2", "#009E73", "#CC79A7")  # of "one motor", then of the CASES
DRIFT = dyn.core.Baumgarte(20.0, 20.0)  # 1/s
CASES = {  # motors, and how to choose among the torques that give the motion
    "two motors": (SHOULDERS, "unique"),
    "three, least torque": ([*SHOULDERS, "left_elbow"], "minimum_torque"),
    "three, least force": ([*SHOULDERS, "left_elbow"], "minimum_force"),
}


def bar(length: float) -> np.ndarray:
    """Inertia of a uniform bar of 2 kg/m from the origin along x."""
    mass = 2.0 * length
    return dyn.spatial_inertia(mass, (length / 2, 0, 0), mass * length**2 / 12 * np.diag([0, 1, 1]))


def five_bar(motors: list[str]) -> dyn.mechanisms.ConstrainedModel:
    """Two arms in the plane x-y, both along x at q = 0, pinned together at their tips."""

    def at(x: float) -> np.ndarray:
        return dyn.se3.from_rotation_translation(np.eye(3), (x, 0, 0))

    z, places = (0, 0, 1), (0.0, UPPER, BASE, BASE + UPPER)
    tree = dyn.model_from_screws(
        [-1, 0, -1, 2],
        [dyn.revolute(z, (x, 0, 0)) for x in places],
        [at(x) for x in places],
        [bar(UPPER), bar(LOWER)] * 2,
        joint_names=JOINTS,
        body_names=["left_upper", "left_lower", "right_upper", "right_lower"],
        gravity=(0, -9.81, 0),
        name="five_bar",
    )
    tip = dyn.mechanisms.LoopClosure(
        "tip", "left_lower", "right_lower", dyn.revolute(z), at(LOWER), at(LOWER)
    )
    return dyn.mechanisms.ConstrainedModel(tree, [tip], motors)


def energy(tree: dyn.MultibodyModel, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
    return dyn.rigid.kinetic_energy(tree, q, qd) + dyn.rigid.potential_energy(tree, q)


def corners(tree: dyn.MultibodyModel, q: np.ndarray) -> list[np.ndarray]:
    """Positions of the left elbow, the right elbow and the tip, (k, 2) each."""
    places = (("left_lower", 0.0), ("right_lower", 0.0), ("left_lower", LOWER))
    return [(dyn.frame_pose(tree, q, body) @ [x, 0, 0, 1])[:, :2] for body, x in places]


def motion(system: dyn.mechanisms.ConstrainedModel, times: np.ndarray) -> tuple[np.ndarray, ...]:
    """q ... q'''' (k, 4) with oscillating shoulders; the elbows follow from the loop."""
    omega, order = 2 * np.pi / PERIOD, np.arange(5)[:, None, None]
    angle = omega * times[:, None] + PHASE + order * np.pi / 2
    rates = np.zeros((5, len(times), 4))
    rates[:, :, ::2] = MEAN * (order == 0) + AMPLITUDE * omega**order * np.sin(angle)
    # An initial guess for the elbows; other signs give other postures.
    rates[0, :, 1::2] = np.radians((110.0, -110.0))
    return dyn.mechanisms.consistent_motion(system, *rates, fixed=SHOULDERS)


def slope_of(values: np.ndarray) -> np.ndarray:
    """The time derivative (k, ...) of a periodic signal, by its Fourier series."""
    omega = 2 * np.pi * np.fft.rfftfreq(len(values), STEP)
    return np.fft.irfft(1j * omega * np.fft.rfft(values.T), len(values)).T


def with_one_motor(given: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    """q, q' and tau (k, 4) every 2 STEPs, with a single motor that drives the left shoulder."""
    system = five_bar(SHOULDERS[:1])

    def dynamics(k: Any, q: np.ndarray, qd: np.ndarray) -> dyn.mechanisms.ConstrainedMotion:
        return dyn.mechanisms.constrained_hybrid_dynamics(
            system, q, qd, prescribed=SHOULDERS[:1], qdd=given[2][k], tau=np.zeros(4),
            baumgarte=DRIFT,
        )  # fmt: skip

    free = dyn.integration.integrate_joints(
        lambda t, q, qd: dynamics(round(t / STEP), q, qd).qdd,
        given[0][0],
        given[1][0],
        STEP * (len(given[0]) - 2),
        2 * STEP,
    )
    q, qd = free.q[:-1], free.qd[:-1]
    return q, qd, dynamics(np.arange(0, len(given[0]) - 2, 2), q, qd).tau


def main(arguments: list[str] | None = None) -> dict[str, list[float]]:
    """Returns the rms torques of the joints, N m, and the rms force in the tip, N, by case."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the linkage and the torques")
    options = parser.parse_args(arguments)

    times = np.arange(0.0, PERIOD, STEP)
    system = five_bar(SHOULDERS)
    tree = system.tree
    given = motion(system, times)
    q, qd = given[:2]

    try:
        dyn.mechanisms.constrained_inverse_dynamics(five_bar(SHOULDERS[:1]), *given)
    except dyn.DynamicsError as error:
        print(f"one motor: {error}")
    q_free, qd_free, tau_free = with_one_motor(given)
    gained = np.diff(energy(tree, q_free, qd_free)[[0, -1]]).item()
    work = simpson((tau_free * qd_free).sum(axis=1), dx=2 * STEP)
    print(f"free motion: work of the motor {work:.5f} J, gain of energy {gained:.5f} J")

    power = slope_of(energy(tree, q, qd))
    torques, rms = {"one motor": tau_free}, {}
    print(" " * 21 + "".join(f"{joint:>16}" for joint in JOINTS[:3]) + "   force in the tip, rms")
    for case, (motors, choice) in CASES.items():
        found = dyn.mechanisms.constrained_inverse_dynamics(five_bar(motors), *given, choice=choice)
        np.testing.assert_allclose((found.tau * qd).sum(axis=1), power, atol=1e-9)
        np.testing.assert_allclose(found.tau_dot, slope_of(found.tau), atol=1e-9)
        torques[case] = found.tau
        force = np.linalg.norm(found.loop_wrenches["tip"][:, 3:], axis=1)
        rms[case] = [float(np.sqrt(np.mean(x**2))) for x in (*found.tau.T[:3], force)]
        print(f"{case:<21}" + "{:12.3f} N m{:12.3f} N m{:12.3f} N m{:12.3f} N".format(*rms[case]))
    print("in each case, the motors' power is the rate of the energy, and Q' is the slope of Q")

    if options.picture:
        from matplotlib import pyplot

        figure = pyplot.figure(figsize=(10, 6.5), layout="constrained")
        axes = figure.subplot_mosaic([["linkage", 0], ["linkage", 1], ["linkage", 2]])
        linkage = axes["linkage"]
        for angles, colour, step in ((q_free, COLOURS[0], 12), (q, COLOURS[1], 24)):
            left, right, tip = corners(tree, angles)
            for k in range(0, len(angles), step):
                line = np.transpose([(0, 0), left[k], tip[k], right[k], (BASE, 0)])
                linkage.plot(*line, "-o", color=colour, ms=3, lw=1, alpha=0.25)
            linkage.plot(*tip.T, color=colour, lw=2)
        start = np.transpose([(0, 0), left[0], tip[0], right[0], (BASE, 0)])
        linkage.plot(*start, "k-o", lw=3)
        linkage.set(aspect="equal")
        linkage.axis("off")
        for i in range(3):
            for (case, tau), colour in zip(torques.items(), COLOURS, strict=True):
                at = np.linspace(0.0, PERIOD, len(tau), endpoint=False)
                axes[i].plot(at, tau[:, i], color=colour, label=case)
            axes[i].set(ylabel=f"{JOINTS[i].replace('_', ' ')}  [N m]")
            axes[i].grid(color="#DDDDDD")
        axes[2].set(xlabel="time  [s]")
        figure.align_ylabels()
        figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
        figure.savefig(options.picture)
    return rms


if __name__ == "__main__":
    main()
