# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A quadruped with springs in its joints sways and squats on four feet: tracking with Q' and Q''.

    python examples/23_squatting_quadruped.py --picture errors.png

The motion of the trunk is given, and the feet stay where they are. `stance_motion` yields the legs'
motion, contact forces inside the friction cones, and Q, Q' and Q'' of the joints; from these, the
flat map yields the motion and torque of the motors. MuJoCo simulates the robot on the floor. Only
the motors are controlled: nothing measures or balances the trunk.
"""

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory
from multibody_dynamics.simulation.mujoco_robot import Floor, MujocoRobot

FILES = share_directory() / "config" / "mechanisms"
FEET = ("FL_FOOT", "FR_FOOT", "HL_FOOT", "HR_FOOT")
KNEES_INWARDS = [0.0, 0.75, -1.5] * 2 + [0.0, -0.75, 1.5] * 2  # rad
SWAY = [0.06, 0.0, 0.04, 0.015, 0.03, 0.0]  # rad and m: roll, yaw, forwards, to the left
SWAYS = [0.1, 0.6, 1.1]  # s: once there and back
SQUAT = 0.05  # m, downwards
SQUATS = [1.3, 1.8, 2.3, 2.8, 3.3]  # s: twice
PHASES = {"sway": SWAYS, "squat": SQUATS}
END = 3.5  # s
FRICTION = 0.6
PERIOD = 1e-3  # s, control cycle
BANDWIDTH = 250.0  # rad/s, of the feedback of the motors
VARIANTS = {"Q, Q', Q''": [[1.0], [1.0], [1.0]], "Q only": [[1.0], [0.0], [0.0]]}


def plan(model: dyn.MultibodyModel, times: np.ndarray) -> dyn.tasks.StanceMotion:
    """Sway once and squat twice, at 1 Hz."""
    standing = np.eye(4)
    standing[2, 3] = -dyn.frame_pose(model, KNEES_INWARDS, FEET[0])[2, 3]
    squatting = standing.copy()
    squatting[2, 3] -= SQUAT
    sway = dyn.interpolate(["s"], SWAYS, [[0.0], [1.0], [0.0]])
    squat = dyn.interpolate(["s"], SQUATS, [[0.0], [1.0], [0.0], [1.0], [0.0]])
    path = dyn.tasks.line(standing, squatting, squat)
    path = path @ dyn.tasks.line(np.eye(4), dyn.se3.exp(SWAY), sway)
    contacts = [dyn.tasks.Contact(foot, friction=FRICTION) for foot in FEET]
    return dyn.tasks.stance_motion(model, contacts, times, path.sample(times), KNEES_INWARDS)


class Measured(NamedTuple):
    """What a motion on the floor was like, over k cycles.

    base : (k, 6) error of the trunk, rad and m. moved : (k,) the largest distance of a foot from
    its place, m. forces : (k, 4, 3) of the floor on the feet, N.
    """

    base: np.ndarray
    moved: np.ndarray
    forces: np.ndarray


def run(
    robot: MujocoRobot, motion: dyn.tasks.StanceMotion, motors: dyn.elastic.MotorMotion, cycles: int
) -> Measured:
    """Follow a motion given at the beginning and the middle of each cycle."""
    robot.reset(motion.states[0, 0], theta=motors.position[0])
    gains = robot.actuators.motor_inertia * [[BANDWIDTH**2], [2 * BANDWIDTH]]
    errors, forces, feet = np.zeros((cycles, 6)), np.zeros((cycles, 4, 3)), []
    for k in range(cycles):
        now, middle = 2 * k, 2 * k + 1
        pose, wanted = robot.base[0], motion.base.pose[now]
        errors[k, :3] = dyn.so3.log(wanted[:3, :3].T @ pose[:3, :3])
        errors[k, 3:] = pose[:3, 3] - wanted[:3, 3]
        forces[k] = robot.ground_forces
        feet.append(robot.contact_points)
        # The torque is held for one period: it is that of the middle of the period.
        torque = motors.torque[middle] + gains[0] * (motors.position[now] - robot.theta)
        robot.step(torque + gains[1] * (motors.velocity[now] - robot.thetad), PERIOD)
    moved = np.linalg.norm(np.array(feet) - feet[0], axis=2)
    return Measured(errors, moved.max(axis=1), forces)


def main(arguments: list[str] | None = None) -> dict[str, float]:
    """Returns, for each phase, the rms error of the trunk with Q' and Q'' over that without."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--urdf",
        type=Path,
        default=FILES / "quadruped.urdf",
        help="another quadruped with the same names, such as solo12.urdf",
    )
    parser.add_argument("--picture", metavar="FILE", help="draw the errors over time")
    options = parser.parse_args(arguments)

    model = dyn.load_urdf(options.urdf)
    actuators = dyn.load_actuators(FILES / "quadruped.yaml", model.joint_names)
    cycles = round(END / PERIOD)
    motion = plan(model, np.arange(2 * cycles) * PERIOD / 2)
    print(f"base wrench that the contacts leave: at most {np.abs(motion.residual[:, 0]).max():.1e}")
    print(f"friction used: at most {100 * motion.friction_used.max():.0f} %")
    for row, name in enumerate(("Q", "Q'", "Q''")):
        print(f"peak {name:<4}{np.abs(motion.torques[:, row]).max():10.3f} N m, per s^{row}")

    robot = MujocoRobot(model, actuators, floor=Floor(FEET, FRICTION, is_base_free=True))
    times = np.arange(cycles) * PERIOD
    errors, rms = {}, {}
    for name, used in VARIANTS.items():
        motors = dyn.elastic.motor_motion(actuators, motion.states, motion.torques * used)
        found = run(robot, motion, motors, cycles)
        errors[name] = np.linalg.norm(found.base[:, 3:], axis=1)
        for phase, (start, *_, end) in PHASES.items():
            during = (times >= start) & (times <= end)
            rms[phase, name] = float(np.sqrt(np.mean(errors[name][during] ** 2)))
            tilt = np.sqrt(3.0 * np.mean(found.base[during, :3] ** 2))
            print(f"{phase:<7}{name:<12}{1e3 * rms[phase, name]:8.4f} mm", end="")
            print(f"{1e3 * tilt:10.4f} mrad rms error of the trunk")
        # At the first instant, the feet touch the floor without pressing on it.
        difference = np.sqrt(np.mean((found.forces - motion.forces[::2, 0])[1:] ** 2))
        print(f"{'':<7}{name:<12}forces differ from the plan by {difference:.4f} N rms", end="")
        print(f", and the feet move by {1e3 * found.moved.max():.3f} mm at most")
    full, without = VARIANTS
    ratios = {phase: rms[phase, full] / rms[phase, without] for phase in PHASES}
    for phase, ratio in ratios.items():
        print(f"{phase}: the error is {ratio:.3f} times that without Q' and Q''")

    if options.picture:
        from matplotlib import pyplot

        figure, axis = pyplot.subplots(figsize=(8, 4), layout="constrained")
        for name, error in errors.items():
            axis.semilogy(times, 1e3 * error, label=name)
        axis.set(xlabel="time  [s]", ylabel="error of the trunk  [mm]", ylim=(1e-4, 1e1))
        axis.grid(color="#DDDDDD")
        axis.legend()
        figure.savefig(options.picture)
    return ratios


if __name__ == "__main__":
    main()
