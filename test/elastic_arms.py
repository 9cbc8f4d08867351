# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Arms with actuators of every kind for the tests of controllers, and their equations of motion."""

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
from scipy.integrate import solve_ivp

from kinds import EXAMPLES
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.arm.arm_settings import ArmSettings
from multibody_dynamics.dynamics.control.arm.desired_motion import DesiredMotion
from multibody_dynamics.dynamics.control.arm.valid_sides import Sample
from multibody_dynamics.dynamics.control.gains.joint_gains import at_rest
from multibody_dynamics.dynamics.control.laws.flatness_settings import FlatnessSettings
from multibody_dynamics.dynamics.core.inputs import Array
from multibody_dynamics.dynamics.elastic import (
    Actuator,
    Antagonistic,
    BacklashSpring,
    Friction,
    GearHarmonic,
    Motor,
    Rigid,
    SeriesElastic,
    SlipElement,
    StiffnessDrive,
    VariableStiffness,
)
from multibody_dynamics.dynamics.elastic.actuator_cycle import SpringSolver
from multibody_dynamics.dynamics.elastic.actuator_description import load_actuators
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.elastic.flatness import MotorMotion, motor_motion
from multibody_dynamics.dynamics.elastic.springs import CubicSpring, LinearSpring, PolynomialSpring
from multibody_dynamics.dynamics.model.multibody_model import MultibodyModel
from multibody_dynamics.dynamics.model.urdf import load_urdf
from multibody_dynamics.dynamics.motion.trajectories import Reference, sum_of_sines
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.dynamics.rigid.crba import gravity_forces
from multibody_dynamics.dynamics.rigid.forward_dynamics_solver import ForwardDynamicsSolver
from multibody_dynamics.dynamics.rigid.rnea import inverse_dynamics
from robots import CONFIG, panda, random_tree, two_link_planar

MOTOR = Motor(0.5, viscous=0.3, coulomb=0.3, coulomb_velocity=0.05)
SMALL = Motor(0.2, viscous=0.3)
START = 1_000_000_000  # ns
TENDON = PolynomialSpring((60.0, 400.0, 300.0), travel=(0.0, 0.9))


class Arm(NamedTuple):
    model: MultibodyModel
    actuators: Actuators
    rest: Array  # (n,) configuration for which gains are designed


def two_links(shoulder, elbow) -> Arm:
    model = two_link_planar(0.4, 0.3)
    return Arm(model, Actuators(model.joint_names, (shoulder, elbow)), np.array([0.3, -0.8]))


def series(K: float, motor: Motor = MOTOR, damping: float = 0.0) -> SeriesElastic:
    return SeriesElastic(motor, LinearSpring(K), damping)


@cache
def linear_arm() -> Arm:
    return two_links(series(400.0), series(200.0, SMALL))


@cache
def nonlinear_arm() -> Arm:
    return two_links(SeriesElastic(MOTOR, CubicSpring(150.0, 4e3)), series(200.0, SMALL))


@cache
def antagonistic_arm() -> Arm:
    return two_links(series(400.0), Antagonistic(SMALL, SMALL, TENDON, TENDON))


@cache
def pretensioned_arm() -> Arm:
    other = Motor(0.3, viscous=0.2)
    elbow = Antagonistic(SMALL, other, TENDON, TENDON, regulates="pretension")
    return two_links(Rigid(MOTOR), elbow)


@cache
def variable_arm() -> Arm:
    """The stiffness of the shoulder is set by a motor, that of the elbow is an input."""
    hardening = CubicSpring(1.0, 3.0)
    drive = StiffnessDrive(Motor(0.05, viscous=0.1), offset=100.0, gain=80.0)
    return two_links(
        VariableStiffness(MOTOR, (150.0, 900.0), hardening, drive),
        VariableStiffness(SMALL, (100.0, 600.0), hardening),
    )


@cache
def damped_arm() -> Arm:
    """A damped shoulder, whose chain is shorter than that of the elbow."""
    return two_links(series(400.0, damping=6.0), SeriesElastic(SMALL, CubicSpring(150.0, 4e3)))


@cache
def real_arm() -> Arm:
    """Everything that real drives add: friction of links and motors, hysteresis, backlash and
    kinematic errors."""
    friction = Friction(
        viscous=0.5, coulomb=1.0, coulomb_velocity=0.05, stribeck=0.3, stribeck_velocity=0.1,
        load_friction=0.05, offset=0.2,
    )  # fmt: skip
    motor = replace(MOTOR, gear_ratio=50.0, stribeck=0.2, load_friction=0.04, offset=-0.1)
    slip = tuple(SlipElement(60.0, 60.0 * x) for x in (0.002, 0.005))
    errors = GearHarmonic(2.0, "motor", 3e-4, 0.5), GearHarmonic(1.0, "link", 5e-4)
    shoulder = SeriesElastic(
        motor, LinearSpring(400.0), hysteresis=slip, kinematic_error=errors, link_friction=friction
    )
    elbow = SeriesElastic(
        SMALL, BacklashSpring(LinearSpring(200.0), 1e-3), hysteresis=slip[:1],
        link_friction=replace(friction, presliding=1e-3),
    )  # fmt: skip
    return two_links(shoulder, elbow)


@cache
def elastic_panda() -> Arm:
    model = panda()
    joints = load_actuators(CONFIG / "elastic_joints" / "panda.yaml", model.joint_names)
    return Arm(model, joints, np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.5]))


@cache
def branching_arm() -> Arm:
    """Off-axis revolute and prismatic joints, two branches."""
    model = random_tree(5, 7)
    joints = tuple(series(K) for K in np.linspace(2e3, 6e3, 5))
    return Arm(model, Actuators(model.joint_names, joints), np.linspace(-0.3, 0.2, 5))


SHIPPED = ("panda", "planar_two_link", "antagonistic_elbow")


@cache
def shipped(name: str) -> Arm:
    """An arm of config/, at rest where its example starts."""
    model = load_urdf(CONFIG / "robots" / f"{name}.urdf")
    springs = CONFIG / "elastic_joints" / f"{name.removesuffix('_elbow')}.yaml"
    start = [0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785] if name == "panda" else [0.0, 0.0]
    return Arm(model, load_actuators(springs, model.joint_names), np.array(start))


def positions(arm: Arm, count: int) -> Array:
    """(count, n) within the arm's limits, or within one turn where it has none."""
    limits = arm.model.limits
    lower, upper = np.maximum(limits.lower, -np.pi), np.minimum(limits.upper, np.pi)
    return np.random.default_rng(0).uniform(lower, upper, (count, arm.model.n))


@cache
def mixed_panda() -> Arm:
    """Joints 2, 4 and 7 without springs; friction everywhere, no limits."""
    model, actuators, rest = elastic_panda()
    mixed = list(actuators.actuators)
    for i, actuator in enumerate(mixed):
        old = actuator.motors[0]
        motor = Motor(old.inertia, viscous=old.viscous, coulomb=old.coulomb, coulomb_velocity=0.2)
        mixed[i] = Rigid(motor) if i in (1, 3, 6) else SeriesElastic(motor, actuator.spring)
    return Arm(model, Actuators(model.joint_names, tuple(mixed)), rest)


@cache
def differential_wrist() -> Arm:
    """Two motors of a wrist that move two joints together, as in config/."""
    springs = CONFIG / "elastic_joints" / "differential_wrist.yaml"
    model = load_urdf(CONFIG / "robots" / "differential_wrist.urdf", couplings=springs)
    joints = load_actuators(springs, model.joint_names, model.joint_types)
    return Arm(model, joints, np.array([-0.4, 0.5, 0.1]))


NAMED_ARMS = (
    linear_arm, nonlinear_arm, antagonistic_arm, pretensioned_arm, variable_arm, damped_arm,
    elastic_panda, mixed_panda, differential_wrist,
)  # fmt: skip


def _of_kind(actuator: Actuator) -> Callable[[], Arm]:
    def arm() -> Arm:
        return two_links(series(400.0), actuator)

    arm.__name__ = f"arm_of_{type(actuator).__name__}"
    return cache(arm)


OTHER_ARMS = tuple(
    _of_kind(example.actuator)
    for example in EXAMPLES.values()
    if type(example.actuator)
    not in {type(each) for arm in NAMED_ARMS for each in arm().actuators.actuators}
)
"""Arms of the kinds that no other arm has: none, unless a test registers another kind."""
EVERY_ARM = (*NAMED_ARMS, *OTHER_ARMS)
WITHOUT_BASE_SPRINGS = tuple(
    arm for arm in EVERY_ARM
    if not any(each.has_base_springs for each in arm().actuators.actuators)
)  # fmt: skip
"""Arms that torque sources and impedances support."""


def without_coulomb(arm: Arm) -> Arm:
    smooth = [
        actuator.with_motors([replace(motor, coulomb=0.0) for motor in actuator.motors])
        for actuator in arm.actuators.actuators
    ]
    return arm._replace(actuators=Actuators(arm.actuators.joint_names, tuple(smooth)))


def split(arm: Arm, x: Array) -> tuple[Array, ...]:
    """q, q', theta, theta'."""
    n, m = arm.model.n, len(arm.actuators.motors)
    return tuple(np.split(x, [n, 2 * n, 2 * n + m]))


@cache
def _solvers(model: MultibodyModel, actuators: Actuators):
    first = actuators.first_motor
    rotors = np.where(actuators.is_rigid, actuators.motor_inertia[first], 0.0)
    return SpringSolver(actuators), ForwardDynamicsSolver(model.with_reflected_inertia(rotors))


def slope(arm: Arm, x: Array, torque: Array, stiffness: Array | None = None) -> Array:
    """d/dt of (q, q', theta, theta') under motor torques (m,); stiffness (2, v)."""
    actuators = arm.actuators
    q, qd, theta, thetad = split(arm, x)
    rigid, first = actuators.is_rigid, actuators.first_motor
    joint = actuators.joint_of_motor
    found, links = _solvers(arm.model, actuators)
    found.q[:], found.qd[:], found.theta[:], found.thetad[:] = q, qd, theta, thetad
    if stiffness is not None:
        found.stiffness[:] = stiffness
    found.update()
    net = torque - actuators.friction(thetad)
    Q = np.where(rigid, net[first], found.torque)
    (qdd,) = links(q, qd, Q)
    thetadd = np.where(rigid[joint], qdd[joint], (net - found.load) / actuators.motor_inertia)
    return np.concatenate((qd, qdd, thetad, thetadd))


def exciting(arm: Arm, speed: float) -> Reference:
    a, b = np.random.default_rng(4).uniform(-speed, speed, (2, arm.model.n, 3))
    return sum_of_sines(arm.model.joint_names, arm.rest, a, b, 3.0, 2.0)


def simulate(arm: Arm, torque, x: Array, times: Array, second=None) -> Array:
    """(k, 2 n + 2 m) at the times; torque(t, q, qd, theta, thetad) is continuous in time."""

    def rates(t: float, x: Array) -> Array:
        rows = None if second is None else second(t)
        return slope(arm, x, torque(t, *split(arm, x)), rows)

    run = solve_ivp(rates, (times[0], times[-1]), x, "DOP853", times, rtol=1e-9, atol=1e-10)
    assert run.success
    return run.y.T


class HeldPlant:
    """The plant `ElasticRobot`, which holds the torque during a step and limits it."""

    def __init__(self, arm: Arm) -> None:
        self.arm = arm
        self.robot = ElasticRobot(arm.model, arm.actuators)
        self.stiffness = self.robot.stiffness
        self.step = self.robot.step

    def reset(self, x: Array) -> None:
        q, qd, theta, thetad = split(self.arm, x)
        self.robot.reset(q, qd, theta=theta, thetad=thetad)

    @property
    def state(self) -> tuple[Array, ...]:
        robot = self.robot
        return robot.q, robot.qd, robot.theta, robot.thetad


def flat_motion(arm: Arm, desired: Array, second: Array) -> tuple[Array, MotorMotion]:
    """(q, q', theta, theta') on a desired motion, and the motors there by the flat map."""
    torque = np.stack(inverse_dynamics(arm.model, *desired))
    bent = arm.actuators.settled_deflection(torque)
    motors = motor_motion(
        arm.actuators, desired, torque, second, deflection=bent, beyond="continue"
    )
    return np.concatenate((*desired[:2], motors.position, motors.velocity)), motors


def plant_on(arm: Arm, desired: Array | None = None) -> HeldPlant:
    """The plant on a desired motion (5, n), by default at rest."""
    plant, second = HeldPlant(arm), at_rest(*arm).second
    plant.stiffness[:] = second[:2]
    plant.reset(flat_motion(arm, still(arm) if desired is None else desired, second)[0])
    return plant


def in_motion(arm: Arm, speed: float) -> HeldPlant:
    """The plant in the middle of a motion."""
    return plant_on(arm, exciting(arm, speed)(0.4))


def peak_error(
    arm: Arm,
    law: control.Controller,
    reference: Callable[[float], Array],
    steps: int,
    lead: float = 0.0,
    period: float = 1e-3,
) -> float:
    """Largest error of a link along a reference, with the torque held for a period in s, and the
    motion `lead` s ahead handed to the law."""
    plant, second, worst = plant_on(arm, reference(0.0)), at_rest(*arm).second, 0.0
    for t in period * np.arange(steps):
        ahead = reference(t + lead) if lead else None
        plant.step(law.update(reference(t), *plant.state, stiffness=second, ahead=ahead), period)
        worst = max(worst, np.abs(plant.state[0] - reference(t + period)[0]).max())
    return worst


def still(arm: Arm) -> Array:
    """(5, n) the desired motion at rest."""
    return np.vstack((arm.rest, np.zeros((4, arm.model.n))))


def at_start(arm: Arm) -> tuple[tuple[Array, ...], Array, Array]:
    """(q, q', theta, theta'), second outputs and motor torques at rest."""
    rest, zero = at_rest(*arm), np.zeros(arm.model.n)
    still = np.zeros_like(rest.theta)
    found = arm.actuators.springs(arm.rest, zero, rest.theta, still, stiffness=rest.second[:2])
    weight = gravity_forces(arm.model, arm.rest)[arm.actuators.joint_of_motor]
    load = np.where(np.isnan(found.load), weight, found.load)
    return (arm.rest, zero, rest.theta, still), rest.second, load


def law_of(arm: Arm, law: str = control.DEFAULT_LAW, **settings) -> control.Controller:
    """A control law with these settings, designed for the arm at rest."""
    chosen = control.ControllerSettings(law=law, **{"position": arm.rest, **settings})
    return control.make_controller(arm.model, arm.actuators, chosen)


class GivenMotion(DesiredMotion):
    """A desired motion (5, n) as a function of the time in s since START, whatever it holds."""

    def __init__(self, arm: Arm, motion: Callable[[float], Array]) -> None:
        super().__init__(arm.model.joint_names, arm.model.limits)
        self._given = motion

    def evaluate(self, time: int, out: Array) -> None:
        self.look_ahead(time, out)
        self.desired[:] = out

    def look_ahead(self, time: int, out: Array) -> None:
        out[:] = 0.0
        rows = self._given(1e-9 * (time - START))
        out[: len(rows)] = rows


def at_rest_under(
    arm: Arm,
    motion: Callable[[float], Array] | None = None,
    cycle: ArmSettings | None = None,
    **settings,
) -> control.Arm:
    """A designed arm that starts from rest, with the torque there, under the law of the settings;
    unlike a node, it does not stop for errors of tracking."""
    second, load = at_start(arm)[1:]
    cycle = cycle or ArmSettings(tracking_tolerance=0.0, transfer_time=0.1)
    cycle = replace(cycle, initial_stiffness=tuple(second[0]))
    given = None if motion is None else GivenMotion(arm, motion)
    made = control.Arm(arm.model, arm.actuators, FlatnessSettings(**settings), cycle, motion=given)
    made.design(arm.rest)
    made.activate(load)
    return made


def sample_of(made: control.Arm, t: float, q: np.ndarray, theta: np.ndarray, **more) -> Sample:
    """What is measured t s after START at these positions, as far as `made` takes it."""
    rows = {"link_position": q.copy(), "motor_position": theta.copy()} | more
    signals = {name: rows[name] for name in made.measured.estimator.signals}
    return Sample(START + round(1e9 * t), signals)
