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
from xml.etree import ElementTree

import mujoco
import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory

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
STEPS = 4  # of the simulation in each
BANDWIDTH = 250.0  # rad/s, of the feedback of the motors
FOOT_RADIUS = 1e-4  # m: the plan takes feet for points, so that they may turn but not roll
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


class Simulation:
    """The robot of a URDF in MuJoCo: on the floor, with its motors behind springs."""

    def __init__(self, urdf: Path, actuators: dyn.elastic.Actuators) -> None:
        spec = mujoco.MjSpec.from_string(without_shapes(urdf))
        spec.compiler.fusestatic = False  # feet remain bodies
        spec.option.timestep = PERIOD / STEPS
        spec.option.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
        spec.body("base_link").add_freejoint()
        floor = spec.worldbody.add_geom(
            type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0.0, 0.0, 1.0], pos=[0.0, 0.0, -FOOT_RADIUS]
        )
        balls = [spec.body(foot).add_geom(size=[FOOT_RADIUS, 0.0, 0.0], mass=0.0) for foot in FEET]
        for shape in (floor, *balls):
            shape.friction = [FRICTION, 0.0, 0.0]
            shape.solref, shape.solimp = [2 * PERIOD / STEPS, 1.0], [0.999, 0.999, 1e-3, 0.5, 2.0]
        for name, inertia in zip(actuators.joint_names, actuators.motor_inertia, strict=True):
            rotor = spec.worldbody.add_body(name=f"rotor of {name}", mass=1e-9, inertia=[1e-12] * 3)
            rotor.explicitinertial = True
            rotor.add_joint(
                name=rotor.name, type=mujoco.mjtJoint.mjJNT_HINGE, armature=float(inertia)
            )
            spring = spec.add_tendon(name=name, springlength=[0.0, 0.0])
            spring.wrap_joint(rotor.name, 1.0)
            spring.wrap_joint(name, -1.0)
        self._model = model = spec.compile()
        self._links = [int(model.joint(name).qposadr[0]) for name in actuators.joint_names]
        rotors = [model.joint(f"rotor of {name}") for name in actuators.joint_names]
        self._angles = [int(rotor.qposadr[0]) for rotor in rotors]
        self._rotors = [int(rotor.dofadr[0]) for rotor in rotors]
        for name, actuator in zip(actuators.joint_names, actuators.actuators, strict=True):
            model.tendon_stiffness[model.tendon(name).id] = (
                actuator.series_spring.constant_stiffness
            )
        self._base = model.body("base_link").id
        self._feet = [model.body(foot).id for foot in FEET]
        self._gains = actuators.motor_inertia * [[BANDWIDTH**2], [2 * BANDWIDTH]]

    def run(
        self, motion: dyn.tasks.StanceMotion, motors: dyn.elastic.MotorMotion, cycles: int
    ) -> Measured:
        """Follow a motion given at the beginning and the middle of each cycle."""
        model, base = self._model, motion.base.pose
        data = mujoco.MjData(model)
        data.qpos[:3] = base[0, :3, 3]
        data.qpos[self._links], data.qpos[self._angles] = motion.states[0, 0], motors.position[0]
        errors, forces, feet = np.zeros((cycles, 6)), np.zeros((cycles, 4, 3)), []
        for k in range(cycles):
            now, middle = 2 * k, 2 * k + 1
            mujoco.mj_forward(model, data)
            rotation = data.xmat[self._base].reshape(3, 3)
            errors[k, :3] = dyn.so3.log(base[now, :3, :3].T @ rotation)
            errors[k, 3:] = data.xpos[self._base] - base[now, :3, 3]
            forces[k] = self._floor(data)
            feet.append(data.xpos[self._feet])
            # The torque is held for one period: it is that of the middle of the period.
            torque = motors.torque[middle]
            torque = torque + self._gains[0] * (motors.position[now] - data.qpos[self._angles])
            torque += self._gains[1] * (motors.velocity[now] - data.qvel[self._rotors])
            data.qfrc_applied[self._rotors] = torque
            for _ in range(STEPS):
                mujoco.mj_step(model, data)
        moved = np.linalg.norm(np.array(feet) - feet[0], axis=2)
        return Measured(errors, moved.max(axis=1), forces)

    def _floor(self, data: mujoco.MjData) -> np.ndarray:
        """(4, 3) forces of the floor on the feet, N."""
        forces = np.zeros((len(self._feet), 3))
        for k, contact in enumerate(data.contact):
            mujoco.mj_contactForce(self._model, data, k, force := np.zeros(6))
            foot = self._feet.index(self._model.geom_bodyid[contact.geom2])
            forces[foot] += contact.frame.reshape(3, 3).T @ force[:3]
        return forces


def without_shapes(urdf: Path) -> str:
    """A URDF without its meshes, which need not be installed."""
    robot = ElementTree.parse(urdf).getroot()
    for link in robot.iter("link"):
        for shape in (*link.findall("visual"), *link.findall("collision")):
            link.remove(shape)
    return ElementTree.tostring(robot, encoding="unicode")


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

    simulation, times = Simulation(options.urdf, actuators), np.arange(cycles) * PERIOD
    errors, rms = {}, {}
    for name, used in VARIANTS.items():
        motors = dyn.elastic.motor_motion(actuators, motion.states, motion.torques * used)
        found = simulation.run(motion, motors, cycles)
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
