# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""User-defined spring laws in compiled code, against the laws themselves in planning."""

from dataclasses import dataclass

import mpmath
import numpy as np
import pytest

from multibody_dynamics.dynamics.control.laws.controller_settings import (
    ControllerSettings,
    make_controller,
)
from multibody_dynamics.dynamics.elastic import (
    Actuator,
    Antagonistic,
    Motor,
    SeriesElastic,
    VariableStiffness,
)
from multibody_dynamics.dynamics.elastic.actuator_cycle import MotorFeedforward, SpringSolver
from multibody_dynamics.dynamics.elastic.actuators import Actuators
from multibody_dynamics.dynamics.elastic.flatness import motor_motion
from multibody_dynamics.dynamics.elastic.sampled_spring import SampledSpring, piecewise
from multibody_dynamics.dynamics.elastic.springs import CubicSpring, LinearSpring, Spring
from multibody_dynamics.dynamics.motion.trajectories import interpolate
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.dynamics.rigid.rnea import inverse_dynamics
from rejections import assert_rejected
from robots import two_link_planar

MOTOR = Motor(0.3, viscous=0.5)


@dataclass(frozen=True)
class Exponential(Spring):
    """s = a (exp(b phi) - 1): a rubber tendon."""

    a: float
    b: float

    def law(self, phi):
        grown = self.a * np.exp(self.b * phi)
        return grown - self.a, self.b * grown, self.b**2 * grown, self.b**3 * grown

    def potential(self, phi):
        return self.a * (np.exp(self.b * phi) / self.b - phi)


@dataclass(frozen=True)
class Engaging(Spring):
    """s = K phi + D (phi + w log(cosh((phi - p) / w))) + const.: from the stiffness K to K + 2 D,
    by a tanh, where a second spring engages at p."""

    K: float
    D: float
    p: float
    w: float

    def law(self, phi):
        x = (phi - self.p) / self.w
        t = np.tanh(x)
        bend = self.w * (np.log(np.cosh(x)) - np.log(np.cosh(self.p / self.w)))
        second = self.D * (1.0 - t**2) / self.w
        return (
            (self.K + self.D) * phi + self.D * bend,
            self.K + self.D * (1.0 + t),
            second,
            -2.0 * second * t / self.w,
        )

    def potential(self, phi):
        raise AssertionError("the sampling must not need the energy")


RUBBER = Exponential(12.0, 9.0, travel=(-0.3, 0.4))
ENGAGING = Engaging(150.0, 200.0, 0.05, 0.02, travel=(-0.3, 0.3))
TENDON = Exponential(8.0, 6.0, travel=(0.0, 0.6))


@pytest.mark.parametrize("spring", [RUBBER, ENGAGING, TENDON])
def test_torque_and_stiffness_meet_the_tolerance_and_the_errors_are_those_stated(spring):
    for tolerance in (1e-3, 1e-6, 1e-9):
        table = SampledSpring(spring, tolerance)
        phi = np.linspace(*spring.travel, 20001)
        law, found = np.array(spring.law(phi)), np.array(table.law(phi))
        scale = np.repeat(np.abs(law).max(axis=1)[:, None], len(phi), axis=1)
        scale[1] = law[1]
        errors = (np.abs(found - law) / scale).max(axis=1)
        assert errors[:2].max() <= 1.1 * tolerance
        assert (errors <= 1.5 * np.array(table.errors) + 1e-13).all()
        assert (np.array(table.errors) <= 1.5 * errors + 1e-13).all()
    table = SampledSpring(spring)
    assert table.tolerance == 1e-6
    assert f"torque {table.errors.torque:.1e}" in str(table.errors)


def test_pieces_are_short_only_where_the_law_bends():
    lengths = np.diff(SampledSpring(ENGAGING).starts)
    nearest = SampledSpring(ENGAGING).starts[np.argmin(lengths)]
    assert abs(nearest - ENGAGING.p) < 3.0 * ENGAGING.w
    assert lengths.max() >= 8.0 * lengths.min()
    assert len(lengths) < 60


def test_the_table_has_three_continuous_derivatives_and_the_energy_of_the_law():
    table = SampledSpring(RUBBER)
    for node in table.starts[1:]:
        left, right = table.derivatives(np.nextafter(node, -1.0)), table.derivatives(node)
        np.testing.assert_allclose(left, right, rtol=1e-9)
    phi = np.linspace(-0.3, 0.4, 23)
    rise = table.energy(phi) - table.energy(0.0)
    wanted = [float(mpmath.quad(lambda x: 12 * (mpmath.exp(9 * x) - 1), [0, end])) for end in phi]
    np.testing.assert_allclose(rise, wanted, rtol=1e-6, atol=1e-9)


def actuator(kind: str) -> Actuator:
    return {
        "series": SeriesElastic(MOTOR, ENGAGING),
        "damped": SeriesElastic(MOTOR, RUBBER, damping=0.5),
        "variable": VariableStiffness(MOTOR, (0.5, 2.0), RUBBER),
        "antagonistic": Antagonistic(MOTOR, MOTOR, TENDON, TENDON),
    }[kind]


@pytest.mark.parametrize("kind", ["series", "damped", "variable", "antagonistic"])
def test_the_control_cycle_gives_the_results_of_planning(kind):
    actuators = Actuators(("joint",), (actuator(kind),))
    rng = np.random.default_rng(1)
    second = {"variable": [[1.2], [0.5], [-2.0]], "antagonistic": [[250.0], [30.0], [-100.0]]}
    k = np.array(second.get(kind, np.zeros((3, 0))))
    cycle, n = MotorFeedforward(actuators), actuators.n
    for _ in range(20):
        state, Q = rng.normal(size=(5, n)), rng.uniform(-9.0, 9.0, (3, n))
        cycle.state[:], cycle.torque[:], cycle.stiffness[:] = state, Q, k
        cycle.deflection[:] = actuators.settled_deflection(Q)
        cycle.update()
        assert not cycle.flags.any()
        wanted = motor_motion(actuators, state, Q, k, deflection=cycle.deflection)
        for row, want in zip(cycle.command, wanted[:4], strict=True):
            np.testing.assert_allclose(row, want, rtol=1e-3, atol=1e-4)

        links, motors = (state[0], state[1]), (cycle.command.position, cycle.command.velocity)
        springs = SpringSolver(actuators, *links, *motors)
        springs.stiffness[:] = k[:2]
        springs.update()
        found = actuators.springs(*links, *motors, stiffness=k[:2])
        np.testing.assert_allclose(springs.torque, found.torque, rtol=1e-6, atol=1e-4)


def test_laws_and_the_plant_follow_a_motion_with_a_user_defined_law():
    model = two_link_planar(0.4, 0.3)
    elbow = SeriesElastic(Motor(0.2), Exponential(30.0, 4.0, travel=(-0.5, 0.5)))
    actuators = Actuators(model.joint_names, (SeriesElastic(MOTOR, ENGAGING), elbow))
    motion = interpolate(model.joint_names, [0.0, 0.6], [[0.3, -0.8], [0.8, -0.3]])
    plant = ElasticRobot(model, actuators)
    law = make_controller(
        model, actuators, ControllerSettings(law="state_feedback", position=motion(0.0)[0])
    )
    plant.reset(motion(0.0)[0])
    state = np.empty((2, 5, model.n))
    worst = 0.0
    for k in range(700):
        motion.evaluate(1e-3 * k, state[0])
        motion.evaluate(1e-3 * k + 0.5e-3, state[1])
        torque = law.update(state[0], plant.q, plant.qd, plant.theta, plant.thetad, ahead=state[1])
        if k % 50 == 0 and k < 600:  # the motors are where planning, with the law itself, has them
            Q = np.array(inverse_dynamics(model, *state[0]))
            wanted = motor_motion(actuators, state[0], Q).position
            np.testing.assert_allclose(plant.theta, wanted, atol=2e-5)
        plant.step(torque, 1e-3)
        worst = max(worst, float(np.abs(plant.q - motion(1e-3 * (k + 1))[0]).max()))
    assert worst < 3e-5


def test_the_second_plant_evaluates_the_law_itself_and_agrees():
    from multibody_dynamics import dynamics as dyn
    from multibody_dynamics.simulation.mujoco_robot import MujocoRobot
    from robots import CONFIG

    text = (CONFIG / "robots" / "planar_two_link.urdf").read_bytes()
    model = dyn.parse_urdf(text)
    kinds = SeriesElastic(Motor(1.0), ENGAGING), SeriesElastic(Motor(0.5), RUBBER)
    actuators = Actuators(model.joint_names, kinds)
    plants = ElasticRobot(model, actuators), MujocoRobot(model, actuators, text)
    for plant in plants:
        plant.reset(np.array([-1.4, 0.2]))
        torque = plant.motor_torque + np.array([3.0, -1.0])
        for _ in range(50):
            plant.step(torque, 1e-3)
    moved = np.abs(plants[0].q - [-1.4, 0.2]).max()
    assert moved > 1e-3
    np.testing.assert_allclose(plants[0].q, plants[1].q, atol=1e-3 * moved)


@dataclass(frozen=True)
class Given(Spring):
    """A law from any function."""

    function: object

    def law(self, phi):
        return self.function(phi)

    def potential(self, phi):
        return phi


def test_laws_that_cannot_be_sampled_are_rejected_with_the_reason():
    zero = np.zeros_like
    unlimited = Actuators(("a",), (SeriesElastic(MOTOR, Exponential(1.0, 1.0)),))

    def sampled(law, end=1.0):
        return lambda: SampledSpring(Given(law, travel=(-end, end)))

    def falling(x):
        return x - 20.0 * x**3, 1.0 - 60.0 * x**2, -120.0 * x, zero(x) - 120.0

    def wrong_derivative(x):
        return x**3 + x, zero(x) + 1.0, 6.0 * x, zero(x) + 6.0

    def jump(x):
        return x + (x > 0.05), zero(x) + 1.0, zero(x), zero(x)

    def endless(x):
        return np.arctanh(x), 1 / (1 - x**2), x, x

    with np.errstate(all="ignore"):
        assert_rejected(
            (lambda: SampledSpring(Exponential(1.0, 1.0)), "Exponential -inf to inf finite"),
            (lambda: SampledSpring(RUBBER, 0.0), "tolerance"),
            (sampled(falling, 0.2), "Given: must increase -0.2 stiffness -1.4"),
            (sampled(wrong_derivative), "cannot be sampled first three derivatives"),
            (sampled(jump), "near the deflection 0.0"),
            (sampled(lambda x: (x, zero(x) + 1.0)), "got 2 rows"),
            (sampled(endless), "not finite -1"),
            (lambda: MotorFeedforward(unlimited), "travel"),
        )


def test_known_laws_are_used_as_they_are():
    for spring in (LinearSpring(100.0), CubicSpring(100.0, 5.0)):
        assert piecewise(spring) is spring
    table = piecewise(RUBBER)
    assert table == SampledSpring(RUBBER)
    assert piecewise(table) is table
