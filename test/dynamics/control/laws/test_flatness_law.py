# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The control law behind the node: signals and a desired motion in, motor torques out."""

from __future__ import annotations

import numpy as np
import pytest

from elastic_arms import (
    SHIPPED,
    Arm,
    HeldPlant,
    antagonistic_arm,
    at_rest_under,
    at_start,
    linear_arm,
    positions,
    pretensioned_arm,
    shipped,
    signals_of,
    variable_arm,
)
from multibody_dynamics.dynamics.control.laws.controller_settings import LAWS, ControllerSettings
from multibody_dynamics.dynamics.control.laws.flatness_law import FlatnessLaw
from multibody_dynamics.dynamics.control.laws.flatness_settings import ON_LINKS, FlatnessSettings
from multibody_dynamics.dynamics.control.observers.adaptive_feedforward import AdaptationSettings
from multibody_dynamics.dynamics.control.observers.state_estimation import StateEstimation
from multibody_dynamics.dynamics.core.errors import DynamicsError
from multibody_dynamics.dynamics.motion import hold, splice
from multibody_dynamics.dynamics.motion.limits import JointCommandLimits
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.dynamics.plant.sensors import DelayLine, Encoder
from multibody_dynamics.dynamics.rigid.crba import gravity_forces

PERIOD = 2e-3
DELAY_PERIOD = 1e-3


MOTOR_ENCODERS = StateEstimation("motor_encoders", bandwidth=25.0, max_step=0.4)


@pytest.mark.parametrize("arm", [linear_arm, antagonistic_arm, variable_arm, pretensioned_arm])
def test_at_rest_every_law_gives_the_holding_torque(arm):
    """Except computed torque, which takes the motor positions for those of the links. The stop from
    link states holds, too; an arm with a stiffness drive has no such stop."""
    arm = arm()
    law = at_rest_under(arm)
    (q, _, theta, _), _, load = at_start(arm)
    has_drive = any(name.endswith("_stiffness") for name in arm.actuators.motor_names)
    assert (law.laws.on_links is None) == has_drive
    names = [*LAWS, *([] if has_drive else [ON_LINKS])]
    names.remove("computed_torque")
    for k, name in enumerate(names):
        law.start(name, 0.0)
        law.measure(k * PERIOD, signals_of(law, q, theta))
        law.update(PERIOD, 0.5 * PERIOD)
        np.testing.assert_allclose(law.transfer.torque, load, atol=1e-6, err_msg=name)
        assert law.name == name
        assert law.is_finite()
    np.testing.assert_allclose(law.arm.holding_torque(), load, atol=1e-9)
    np.testing.assert_allclose(law.rest(q), load, atol=1e-9)
    np.testing.assert_allclose(law.arm.gravity, gravity_forces(arm.model, q), atol=1e-12)
    if not has_drive:
        np.testing.assert_allclose(law.motors_at_rest(q), theta, atol=1e-9)


def test_commands_leave_out_gravity_that_the_robot_compensates():
    arm = linear_arm()
    law = at_rest_under(arm, gravity_compensated_by_robot=True)
    (q, _, theta, _), _, _ = at_start(arm)
    law.measure(0.0, signals_of(law, q, theta))
    law.update(PERIOD, 0.0)
    np.testing.assert_allclose(law.commanded(), 0.0, atol=1e-6)


def closed_loop(law: FlatnessLaw, arm: Arm, seconds: float, push: np.ndarray) -> np.ndarray:
    """Link positions of an arm that starts at rest, with the torques `push` (n,) on its joints."""
    plant = HeldPlant(arm)
    (q, qd, theta, thetad), _, _ = at_start(arm)
    plant.reset(np.concatenate((q, qd, theta, thetad)))
    world = np.zeros((arm.model.n, 6))
    world[-1, 1] = push[-1]  # a moment about the axes, which are parallel to y
    plant.robot.applied_wrenches[:] = world
    found = []
    for k in range(round(seconds / PERIOD)):
        q, _, theta, _ = plant.state
        law.measure(k * PERIOD, signals_of(law, q, theta))
        if law.arm.observer is not None:
            law.external_torque[:] = law.arm.observer.residual
        law.update(PERIOD, 0.5 * PERIOD)
        plant.step(law.commanded(), PERIOD)
        found.append(plant.state[0].copy())
    return np.array(found)


def follow(arm: Arm, law: FlatnessLaw, delays: tuple[float, float]) -> tuple[float, float]:
    """Largest error of the links on a 0.4 s motion, and the largest torque on a link by which the
    compensation explains it, of a plant with delays of sensors (whole cycles) and commands."""
    sensor, command = delays
    plant = ElasticRobot(law.model, law.actuators)
    plant.reset(arm.rest)
    motion = splice(
        hold(law.model.joint_names, arm.rest), 0.1, [0.5], [arm.rest + np.array([0.3, -0.4])]
    )
    line = DelayLine(command, DELAY_PERIOD, plant.motor_torque.copy())
    law.transfer.torque[:] = plant.motor_torque
    samples, error, explained = [], 0.0, 0.0
    for k in range(600):
        t = k * DELAY_PERIOD
        samples.append((plant.q.copy(), plant.theta.copy()))
        law.measure(t, signals_of(law, *samples[max(0, k - round(sensor / DELAY_PERIOD))]))
        motion.evaluate(t + law.reference_lead, law.desired)
        motion.evaluate(t + command + 0.5 * DELAY_PERIOD, law.ahead)
        law.update(DELAY_PERIOD, command + 0.5 * DELAY_PERIOD - law.reference_lead)
        for duration, torque in line.push(law.transfer.torque.copy()):
            plant.step(torque, duration)
        error = max(error, np.abs(plant.q - motion(t + DELAY_PERIOD)[0]).max())
        compensation = getattr(law.transfer.law, "compensation", None)
        if compensation is not None:
            explained = max(explained, np.abs(compensation.link).max())
    return error, explained


@pytest.mark.parametrize("delays", [(0.0, 3e-3), (1e-3, 2.3e-3)])
@pytest.mark.parametrize("name", ["motor_pd", "state_feedback"])
@pytest.mark.parametrize("compensated", [0.0, 180.0])
def test_known_delays_hardly_increase_the_error(name, delays, compensated):
    """With an exact model, also with compensation: it sees the torque that acted then, and so
    finds nothing to compensate."""
    arm, speed = linear_arm(), {"motor_pd": 80.0, "state_feedback": 40.0}[name]
    chosen = ControllerSettings(law=name, bandwidth=speed, disturbance_bandwidth=compensated)
    settings = {"law": name, "controllers": {name: chosen, "hold": ControllerSettings(law="hold")}}
    undelayed, found = follow(arm, at_rest_under(arm, **settings), (0.0, 0.0))
    known = dict(zip(("sensor_delay", "command_delay"), delays, strict=True))
    delayed, found_late = follow(arm, at_rest_under(arm, **settings, **known), delays)
    assert delayed < 1.5 * undelayed + 2e-5
    assert found_late <= 1.5 * found + 0.02


def test_without_prediction_state_feedback_does_not_tolerate_the_delay():
    arm = linear_arm()
    chosen = ControllerSettings(law="state_feedback", bandwidth=60.0)
    controllers = {"state_feedback": chosen, "hold": ControllerSettings(law="hold")}
    settings = {"law": "state_feedback", "controllers": controllers, "command_delay": 6e-3}
    predicted, _ = follow(arm, at_rest_under(arm, **settings), (0.0, 6e-3))
    assert predicted < 1e-3
    with pytest.raises(DynamicsError, match="diverges"):
        follow(arm, at_rest_under(arm, **settings, predicts_state=False), (0.0, 6e-3))


def test_the_damped_stop_acts_on_the_measured_state():
    arm = linear_arm()
    law = at_rest_under(arm, command_delay=3e-3)
    law.start("hold", 0.0)
    (q, _, theta, _), _, _ = at_start(arm)
    for k in range(5):
        law.measure(k * PERIOD, signals_of(law, q + 1e-3 * k, theta))
        law.update(PERIOD, 0.0)
    np.testing.assert_array_equal(
        np.concatenate(law.state), np.concatenate(law.arm.estimator.state)
    )


def test_a_stop_that_begins_after_the_prediction_acts_on_the_measured_state():
    arm = linear_arm()
    law = at_rest_under(arm, command_delay=3e-3)
    (q, _, theta, _), _, _ = at_start(arm)
    for k in range(5):
        law.measure(k * PERIOD, signals_of(law, q + 1e-3 * k, theta))
        predicted = np.concatenate(law.state)
        law.update(PERIOD, 0.0)
    law.measure(5 * PERIOD, signals_of(law, q + 5e-3, theta))
    assert law.is_predicted
    assert (predicted != np.concatenate(law.arm.state)).any()
    law.start("hold", 0.0)
    law.update(PERIOD, 0.0)
    np.testing.assert_array_equal(np.concatenate(law.state), np.concatenate(law.arm.state))


def test_observed_external_torques_are_compensated():
    arm, push = linear_arm(), np.array([0.0, 2.0])
    alone = {"motor_pd": ControllerSettings(disturbance_bandwidth=0.0)}
    alone["hold"] = ControllerSettings(law="hold")
    without = closed_loop(at_rest_under(arm, controllers=alone), arm, 1.0, push)[-1] - arm.rest
    law = at_rest_under(arm, controllers=alone, observer_gain=20.0)
    countered = closed_loop(law, arm, 1.0, push)[-1] - arm.rest
    assert law.arm.observer is not None
    assert np.abs(law.arm.observer.residual).max() == pytest.approx(2.0, rel=0.02)
    assert np.abs(without).max() > 3e-3
    assert np.abs(countered).max() < 0.15 * np.abs(without).max()


def test_a_law_takes_over_without_a_jump_and_a_restart_discards_the_past():
    arm = linear_arm()
    law = at_rest_under(arm, law="motor_pd")
    (q, _, theta, _), _, _ = at_start(arm)
    torques = []
    for k in range(80):
        if k == 10:
            law.switch("state_feedback", 0.1)
        law.measure(k * PERIOD, signals_of(law, q + 0.01, theta + 0.01))
        law.update(PERIOD, 0.0)
        torques.append(law.transfer.torque.copy())
    wide = np.abs(torques[-1] - torques[9]).max()
    assert np.abs(np.diff(torques[10:], axis=0)).max() < 0.1 * wide
    assert law.arm.estimator.is_settled
    law.restart()
    assert not law.arm.estimator.is_settled


def test_a_stop_yields_at_the_limit_of_the_torques_sent():
    arm = linear_arm()
    law = at_rest_under(arm)
    law.limit(JointCommandLimits(arm.actuators.motor_names, torque=[3.0, 4.0]))
    law.design(arm.rest)  # another time, at rest elsewhere
    law.start("hold", 0.0)
    (q, _, theta, _), _, _ = at_start(arm)
    for k in range(20):
        law.measure(k * PERIOD, signals_of(law, q, theta + 0.5))
        law.update(PERIOD, 0.0)
        assert abs(law.transfer.torque[0]) == 3.0
        assert law.transfer.events == ()  # the law itself requests no more


def test_estimates_of_masses_are_kept_or_forgotten_on_request():
    arm = linear_arm()
    adaptation = AdaptationSettings(adapts="payload", rate=5.0)
    controllers = {
        "motor_pd": ControllerSettings(law="motor_pd", adaptation=adaptation),
        "hold": ControllerSettings(law="hold"),
    }
    law = at_rest_under(arm, controllers=controllers)
    assert law.adaptation is not None
    known = [(name, mass) for name, _, mass in law.adaptation.masses()]

    def masses() -> list[tuple[str, float]]:
        return [(name, mass) for name, mass, _ in law.adaptation.masses()]

    law.laws.adapt(False)
    law.design(arm.rest)  # designs new controllers
    law.start("motor_pd", 0.1)
    push = np.array([0.0, 2.0])
    closed_loop(law, arm, 0.1, push)
    assert masses() == known
    law.laws.adapt(True)
    law.restart()
    closed_loop(law, arm, 0.1, push)
    assert masses() != known
    law.laws.forget_adaptation()
    np.testing.assert_allclose([mass for _, mass in masses()], [mass for _, mass in known])
    law.start("hold", 0.1)
    assert law.adaptation is None


@pytest.mark.parametrize("bad", ["rejected", "raising", "restarting", "wild"])
def test_hold_acts_on_the_motors_and_not_on_an_observer_that_fails(bad):
    """A moving arm whose observer receives bad samples from the start of the stop."""
    arm = linear_arm()
    law = at_rest_under(arm, estimation=MOTOR_ENCODERS, law="hold")
    plant = HeldPlant(arm)
    (q, _, theta, _), _, load = at_start(arm)
    speed = np.full(arm.model.n, 1.0)
    plant.reset(np.concatenate((q, speed, theta, speed)))
    reported, lost = load, 0
    for k in range(600):
        theta = plant.state[2].copy()
        if bad == "raising" and k > 2:
            reported = np.full_like(load, np.nan)
        elif bad == "restarting" and k > 2:
            reported = np.full_like(load, 1e200 * (-1) ** k)
        elif bad == "rejected" and k > 2:
            law.arm.estimator.state.theta[:] = 9.0
        elif bad == "wild" and k % 10 == 5:
            theta += 2.0
        law.measure(k * PERIOD, {"motor_position": theta, "motor_torque": reported})
        lost += bool(law.arm.lost)
        law.update(PERIOD, 0.0)
        assert law.is_finite()
        plant.step(law.commanded(), PERIOD)
        reported = law.commanded().copy()
    assert lost > 50
    assert not law.arm.is_settled
    assert np.abs(plant.state[1]).max() < 0.01
    assert np.abs(plant.state[0] - arm.rest).max() < 0.5


def test_motor_laws_never_use_the_observer_even_during_a_transfer():
    """Two arms at the same rest; the observer of one receives wrong torques."""
    arm = linear_arm()
    pair = [at_rest_under(arm, estimation=MOTOR_ENCODERS, law="hold") for _ in "ab"]
    (_, _, theta, _), _, load = at_start(arm)
    for k in range(80):
        for law, reported in zip(pair, (load, load + 20.0), strict=True):
            if k == 20:
                law.switch("motor_pd", 0.1)
            law.measure(k * PERIOD, {"motor_position": theta + 1e-4 * k, "motor_torque": reported})
            law.update(PERIOD, 0.0)
        np.testing.assert_array_equal(pair[0].transfer.torque, pair[1].transfer.torque)
    states = [law.arm.estimator.state for law in pair]
    assert np.abs(states[0].theta - states[1].theta).max() > 1e-2


class Loop:
    """Arm, law and estimation from motor encoders, at 1 kHz or another period; a torque acts one
    period after the state for which it was computed."""

    def __init__(self, arm: Arm, q: np.ndarray, period: float, resolution: float = 0.0) -> None:
        """At rest at q, with gains of `arm.rest`."""
        self.period, self.now = period, 0.0
        settings = FlatnessSettings(estimation=MOTOR_ENCODERS)
        self.law = law = FlatnessLaw(arm.model, arm.actuators, settings)
        law.design(arm.rest)
        (q, qd, theta, thetad), law.stiffness[:], load = at_start(arm._replace(rest=q))
        law.desired[0] = law.ahead[0] = q
        self.plant = ElasticRobot(arm.model, arm.actuators, step=1e-3)
        self.plant.reset(q, qd, theta=theta, thetad=thetad)
        self.encoder = Encoder(
            len(theta), period, resolution=resolution, noise=resolution / 3.0, seed=1
        )
        law.transfer.torque[:] = load
        law.start("state_feedback", 0.0)
        self.measure()
        self.observer, self.filter = law.arm.estimator._observer, law.arm._motor_filter
        self.waiting = law.transfer.torque.copy()

    def measure(self) -> None:
        plant = self.plant
        self.encoder.update(plant.theta, plant.thetad)
        rows = {"motor_position": self.encoder.position, "motor_torque": plant.motor_torque}
        self.law.measure(self.now, rows)

    def step(self, period: float = 0.0) -> None:
        period = period or self.period
        self.law.update(period, 1.5 * self.period)
        self.plant.step(self.waiting, period)
        self.waiting[:] = self.law.transfer.torque
        self.now += period
        self.measure()

    @property
    def rows(self) -> list[np.ndarray]:
        """The complete state from which the next step starts."""
        return [self.plant.state, self.plant.motor_torque, self.waiting,
                self.observer._x, self.observer._measured, self.filter.state]  # fmt: skip

    def put(self, x: np.ndarray) -> None:
        for row in self.rows:
            row.flat, x = x[: row.size], x[row.size :]

    def multipliers(self) -> np.ndarray:
        """Eigenvalues of one step, near rest, with everything compiled and discretised."""
        for _ in range(3):
            self.step()
        before = np.concatenate([row.ravel() for row in self.rows])
        columns = []
        for unit in np.eye(len(before)) * 1e-7:
            ends = []
            for sign in (1.0, -1.0):
                self.put(before + sign * unit)
                self.step()
                ends.append(np.concatenate([row.ravel() for row in self.rows]))
            columns.append((ends[0] - ends[1]) / 2e-7)
        return np.linalg.eigvals(np.transpose(columns))


@pytest.mark.parametrize("name", SHIPPED)
def test_with_motor_encoders_alone_shipped_arms_are_stable_away_from_the_design_position(name):
    """The slowest pole, 0.2 to 0.3 1/s, estimates the load while friction holds the motors."""
    arm = shipped(name)
    for q in positions(arm, 3):
        assert np.abs(Loop(arm, q, 1e-3).multipliers()).max() < 1.0 - 1e-4


def test_with_motor_encoders_alone_the_panda_holds_for_twenty_seconds():
    """Far from where its gains were designed; encoders with resolution and noise, cycles that are
    late by up to 4 ms."""
    arm = shipped("panda")
    away = np.array([-0.367, 0.144, 0.869, -1.386, -0.403, 1.415, -0.077])
    loop = Loop(arm, away, 2e-3, resolution=1.5e-5)
    rng = np.random.default_rng(0)
    worst = 0.0
    while loop.now < 20.0:
        loop.step(2e-3 + 4e-3 * rng.random() * (rng.random() < 0.05))
        worst = max(worst, np.abs(loop.plant.q - away).max())
    assert worst < 5e-4
    assert not loop.law.arm.lost
