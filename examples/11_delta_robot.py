# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A delta robot on a circle: torques of its three motors, their rates Q' and Q''.

    python examples/11_delta_robot.py --picture delta.png

Three motor-driven arms carry the platform by pairs of parallel rods. Each rod has a universal joint
at the arm and a ball joint at the platform: the six loops are cut at the ball joints. The platform
has six coordinates; that it stays level is not assumed, but follows from the constraints.
"""

import argparse

import numpy as np

from multibody_dynamics import dynamics as dyn

BASE, ARM, ROD, PLATFORM, WIDTH = 0.12, 0.25, 0.6, 0.05, 0.08  # m; WIDTH is between paired rods
ARM_MASS, ROD_MASS, PLATFORM_MASS = 0.4, 0.06, 0.5  # kg
RADIUS, HEIGHT, PERIOD = 0.12, 0.05, 0.5  # m, m, s: a circle, tilted by HEIGHT up and down
MOTORS, PLACE, ATTITUDE = ["motor1", "motor2", "motor3"], ["x", "y", "z"], ["yaw", "pitch", "roll"]


def bar(mass: float, along: np.ndarray) -> np.ndarray:
    """Inertia of a thin bar from the origin to `along`."""
    inertia = mass / 12 * (along @ along * np.eye(3) - np.outer(along, along))
    return dyn.spatial_inertia(mass, along / 2, inertia)


def delta_robot() -> dyn.mechanisms.ConstrainedModel:
    """The arms are horizontal at q = 0, where x = y = z = 0; positive angles lower the arms."""
    drop = np.sqrt(ROD**2 - (BASE + ARM - PLATFORM) ** 2)
    parts, balls = [], {}

    def add(parent, screws, place, inertia, joint, body) -> int:
        """Add a body, whose frame has inertial axes at q = 0."""
        pose = dyn.se3.from_rotation_translation(np.eye(3), place)
        parts.append((parent, screws, pose, inertia, joint, body))
        return len(parts) - 1

    disc = PLATFORM_MASS * PLATFORM**2 / 4 * np.diag([1, 1, 2])
    disc = dyn.spatial_inertia(PLATFORM_MASS, (0, 0, 0), disc)
    middle = np.array([0, 0, -drop])
    add(-1, dyn.floating(middle), middle, disc, PLACE + ATTITUDE, "platform")
    for k, motor in enumerate(MOTORS):
        out, side, _ = dyn.so3.exp([0, 0, 2 * np.pi / 3 * k]).T
        shoulder, elbow, wrist = BASE * out, (BASE + ARM) * out, PLATFORM * out + middle
        turning = dyn.revolute(side, shoulder)
        arm = add(-1, turning, shoulder, bar(ARM_MASS, elbow - shoulder), motor, f"arm{k}")
        rod = wrist - elbow
        for letter, offset in (("a", -WIDTH / 2 * side), ("b", WIDTH / 2 * side)):
            name = f"rod{k}{letter}"
            cross = dyn.universal(elbow + offset, side, np.cross(side, rod))
            add(arm, cross, elbow + offset, bar(ROD_MASS, rod), f"elbow_{name}", name)
            balls[name] = wrist + offset
    parents, screws, poses, inertias, joints, bodies = zip(*parts, strict=True)
    tree = dyn.model_from_screws(
        parents,
        screws,
        poses,
        inertias,
        joint_names=joints,
        body_names=bodies,
        name="delta_robot",
    )
    loops = [
        dyn.mechanisms.LoopClosure.at(
            tree, f"ball_{rod}", rod, "platform", dyn.spherical(), point=ball
        )
        for rod, ball in balls.items()
    ]
    return dyn.mechanisms.ConstrainedModel(tree, loops, actuated=MOTORS)


def slope_of(values: np.ndarray) -> np.ndarray:
    """The time derivative (k, ...) of a periodic signal, by its Fourier series."""
    omega = 2 * np.pi * np.fft.rfftfreq(len(values), PERIOD / len(values))
    return np.fft.irfft(1j * omega * np.fft.rfft(values.T), len(values)).T


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Returns relative defects: of Q' and Q'' as slopes of Q and Q', and of the power balance."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", metavar="FILE", help="draw the robot, Q, Q' and Q''")
    options = parser.parse_args(arguments)

    robot = delta_robot()
    tree = robot.tree
    print(f"{robot.n} joints, {robot.m} constraints, motors {', '.join(robot.actuated)}")

    # The motion of the platform is given with four derivatives; all else follows from it.
    times = np.linspace(0.0, PERIOD, 100, endpoint=False)
    omega, order = 2 * np.pi / PERIOD, np.arange(5)[:, None]
    angle = omega * times + order * np.pi / 2
    circle = [RADIUS * np.cos(angle), RADIUS * np.sin(angle), HEIGHT * np.cos(angle)]
    given = np.moveaxis(circle, 0, -1) * omega ** order[..., None]
    start = np.zeros(robot.n)
    start[robot.indices(PLACE)] = given[0, 0]
    solver = dyn.mechanisms.ConstrainedInverseDynamicsSolver(robot, start, independent=PLACE)
    (q, qd, *_), Q = solver.batch(*given)  # in a control cycle: one state after the other
    tilt = np.abs(q[:, robot.indices(ATTITUDE)]).max()
    print(f"the platform stays level to {tilt:.0e} rad")

    print(f"{'peak of':<10}{'Q  [N m]':>12}{'Q_dot':>12}{'Q_ddot':>12}")
    for motor, *peaks in zip(robot.actuated, *(abs(row).max(axis=0) for row in Q), strict=True):
        print(f"{motor:<10}" + "".join(f"{peak:12.3f}" for peak in peaks))
    energy = dyn.rigid.kinetic_energy(tree, q, qd) + dyn.rigid.potential_energy(tree, q)
    power = (Q[0] * qd[:, robot.actuated_indices]).sum(axis=1)
    pairs = {
        "Q_dot and the slope of Q": (Q[1], slope_of(Q[0])),
        "Q_ddot and the slope of Q_dot": (Q[2], slope_of(Q[1])),
        "power of the motors and rate of the energy": (power, slope_of(energy)),
    }
    defects = {what: float(np.abs(a - b).max() / np.abs(a).max()) for what, (a, b) in pairs.items()}
    for what, defect in defects.items():
        print(f"{what} differ by {defect:.0e}")

    if options.picture:
        from matplotlib import pyplot

        figure, axes = pyplot.subplot_mosaic(
            [["robot", row] for row in range(3)],
            figsize=(11, 6.5),
            layout="constrained",
            per_subplot_kw={"robot": {"projection": "3d"}},
        )
        drawing = axes["robot"]
        platform = dyn.frame_pose(tree, q, "platform")
        for loop in robot.constraints:
            elbow = dyn.frame_pose(tree, q, loop.first)
            shoulder = dyn.frame_pose(tree, q, loop.first.replace("rod", "arm")[:-1])
            bodies = (np.eye(4) + 0 * elbow, shoulder, elbow, elbow @ loop.first_pose, platform)
            for k, colour, width in ((33, "#BBBBBB", 1), (66, "#BBBBBB", 1), (0, "k", 2.5)):
                line = np.transpose([pose[k, :3, 3] for pose in bodies])
                drawing.plot(*line, "-o", color=colour, lw=width, ms=1.5 * width)
        drawing.plot(*platform[:, :3, 3].T, color="#D55E00", lw=2)
        drawing.set(aspect="equal")
        drawing.axis("off")
        drawing.view_init(elev=20, azim=-75)
        labels = ("Q  [N m]", "Q'  [N m/s]", "Q''  [N m/s²]")
        for row, label in enumerate(labels):
            lines = axes[row].plot(times, Q[row])
            axes[row].set_ylabel(label)
            axes[row].grid(color="#DDDDDD")
        axes[2].set_xlabel("time  [s]")
        figure.legend(lines, robot.actuated, loc="outside upper center", ncols=3)
        figure.savefig(options.picture)
    return defects


if __name__ == "__main__":
    main()
