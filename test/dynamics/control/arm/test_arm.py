# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The control cycle behind the node: samples and a desired motion in, motor torques out."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from elastic_arms import (
    SHIPPED,
    START,
    Arm,
    HeldPlant,
    antagonistic_arm,
    at_rest_under,
    at_start,
    linear_arm,
    positions,
    pretensioned_arm,
    sample_of,
    shipped,
    variable_arm,
)
from multibody_dynamics.dynamics import control
from multibody_dynamics.dynamics.control.arm.arm import Command
from multibody_dynamics.dynamics.control.arm.arm_settings import ArmSettings
from multibody_dynamics.dynamics.control.arm.desired_motion import TrajectoryRequest
from multibody_dynamics.dynamics.control.arm.modes import (
    CHATTER,
    COARSE,
    DAMPED_FOR,
    FAULTS,
    IMPLAUSIBLE,
    NO_LINKS,
    NOT_FINITE,
    OVERLOAD,
    OVERSPEED,
    STOP_FAILED,
    TIME,
    Mode,
)
from multibody_dynamics.dynamics.control.arm.valid_sides import (
    BOTH,
    LINKS,
    MOTORS,
    POSITIONS,
    Sample,
)
from multibody_dynamics.dynamics.control.laws.controller_settings import LAWS, ControllerSettings
from multibody_dynamics.dynamics.control.laws.flatness_settings import ON_LINKS, FlatnessSettings
from multibody_dynamics.dynamics.control.observers.adaptive_feedforward import AdaptationSettings
from multibody_dynamics.dynamics.control.observers.state_estimation import StateEstimation
from multibody_dynamics.dynamics.control.signals.encoder_steps import RELAY
from multibody_dynamics.dynamics.core.errors import DynamicsError
from multibody_dynamics.dynamics.model.urdf import load_urdf
from multibody_dynamics.dynamics.motion import hold, splice
from multibody_dynamics.dynamics.motion.limits import JointCommandLimits
from multibody_dynamics.dynamics.plant.elastic_robot import ElasticRobot
from multibody_dynamics.dynamics.plant.sensors import DelayLine, Encoder
from multibody_dynamics.dynamics.rigid.crba import gravity_forces
from robots import CONFIG

PERIOD = 2e-3
DELAY_PERIOD = 1e-3
SECOND = 1_000_000_000  # ns
AT_ONCE = ArmSettings(tracking_tolerance=0.0, transfer_time=0.0)
MOTOR_ENCODERS = StateEstimation("motor_encoders", bandwidth=25.0, max_step=0.4)


def holding(arm: Arm, law: str, **settings) -> dict[str, object]:
    """Settings under which only `law`, with these settings, and "hold" exist."""
    own = ControllerSettings(law=law, **settings)
    return {"law": law, "controllers": {"hold": ControllerSettings(law="hold"), law: own}}


@pytest.mark.parametrize("arm", [linear_arm, antagonistic_arm, variable_arm, pretensioned_arm])
def test_at_rest_every_law_gives_the_holding_torque(arm):
    """Except computed torque, which takes the motor positions for those of the links. The stop from
    link states holds, too; an arm with a stiffness drive has no such stop."""
    arm = arm()
    made = at_rest_under(arm, cycle=AT_ONCE)
    (q, _, theta, _), _, load = at_start(arm)
    has_drive = any(name.endswith("_stiffness") for name in arm.actuators.motor_names)
    assert (made.laws.on_links is None) == has_drive
    names = [name for name in LAWS if name != "computed_torque"]
    k = 0
    for k, name in enumerate(names):
        made.choose_law(name)
        command = made.update(sample_of(made, k * PERIOD, q, theta))
        np.testing.assert_allclose(command.torque, load, atol=1e-6, err_msg=name)
        assert made.name == name
        assert command.mode is Mode.HOLDING
    np.testing.assert_allclose(made.measured.holding_torque(), load, atol=1e-9)
    np.testing.assert_allclose(made.measured.gravity, gravity_forces(arm.model, q), atol=1e-12)
    if not has_drive:
        sample = sample_of(made, (k + 1) * PERIOD, q, theta)._replace(missing=MOTORS)
        np.testing.assert_allclose(made.update(sample).torque, load, atol=1e-6)
        assert made.name == ON_LINKS
        np.testing.assert_allclose(made.motors_at_rest(q), theta, atol=1e-9)
    rest = made.rest(START + round(1e9 * (k + 2) * PERIOD), PERIOD).torque
    np.testing.assert_allclose(rest, load, atol=1e-9)


def test_commands_leave_out_gravity_that_the_robot_compensates():
    arm = linear_arm()
    made = at_rest_under(arm, gravity_compensated_by_robot=True)
    (q, _, theta, _), _, _ = at_start(arm)
    np.testing.assert_allclose(made.update(sample_of(made, 0.0, q, theta)).torque, 0.0, atol=1e-6)


def test_an_arm_that_is_not_active_is_measured_and_gets_no_torque():
    arm = linear_arm()
    made = at_rest_under(arm)
    made.deactivate()
    (q, _, theta, _), _, load = at_start(arm)
    for k in range(20):
        command = made.update(sample_of(made, k * PERIOD, q, theta))
        assert (command.mode, command.torque) == (Mode.INACTIVE, None)
    np.testing.assert_allclose(made.measured.estimator.state.q, q, atol=1e-9)
    made.activate()
    command = made.update(sample_of(made, 20 * PERIOD, q, theta))
    np.testing.assert_allclose(command.torque, load, atol=1e-6)
    made.deactivate()
    command = made.update(sample_of(made, 21 * PERIOD, q, theta))
    assert (command.mode, command.torque) == (Mode.INACTIVE, None)


@pytest.mark.parametrize("before", [0, 30])
def test_an_arm_that_moves_at_activation_is_stopped_first(before):
    """At once if it has been measured `before`, or when the filters have settled."""
    arm = linear_arm()
    made = at_rest_under(arm)
    (q, _, theta, _), _, _ = at_start(arm)
    made.deactivate()
    for k in range(-before, 0):
        made.update(sample_of(made, k * PERIOD, q + k * PERIOD, theta + k * PERIOD))
    made.activate()
    modes = [
        made.update(sample_of(made, k * PERIOD, q + k * PERIOD, theta + k * PERIOD)).mode
        for k in range(30)
    ]
    held = modes.index(Mode.STOPPING)
    assert modes[:held] == [Mode.HOLDING] * held
    assert held == 0 if before else 0 < PERIOD * held < 0.02
    assert set(modes[held:]) == {Mode.STOPPING}
    assert made.supervisor.text == "the arm moves"


def test_springs_that_accelerate_the_arm_at_activation_are_no_silence():
    """No sample counted before the first one, so links and motors need not agree as at rest."""
    arm = linear_arm()
    made = at_rest_under(arm, cycle=ArmSettings(load_tolerance=0.1))
    made.deactivate()
    (q, _, theta, _), _, _ = at_start(arm)
    allowed = 0.1 * made.resting.allowed
    theta = theta + 1.5 * allowed / made.measured.springs.stiffness_felt
    assert made.resting.agrees(q, theta, allowed) == 0
    for k in range(-30, 0):
        made.update(sample_of(made, k * PERIOD, q + k * PERIOD, theta + k * PERIOD))
    made.activate()
    for k in range(5):
        command = made.update(sample_of(made, k * PERIOD, q + k * PERIOD, theta + k * PERIOD))
        assert command.mode is Mode.STOPPING
        assert command.torque is not None


def torques_with_gap(
    law: str,
    period: float,
    gap: float,
    ticks: float = 4e-3,
    arrives: Callable[[int], bool] | None = None,
    name: str = "planar_two_link",
) -> np.ndarray:
    """Torques of every cycle of a motion at 1 rad/s; without states for `gap` s, or where they do
    not arrive, there are late cycles at `ticks`, as in the node."""
    arm = shipped(name)
    cycle = ArmSettings(transfer_time=0.1)
    own = {
        name: ControllerSettings(law=name, period=period, position=arm.rest)
        for name in (law, "hold")
    }
    made = at_rest_under(arm, None, cycle, law=law, controllers=own, estimation=StateEstimation(
        "link_and_motor_encoders", bandwidth=100.0, max_step=0.1))  # fmt: skip
    plant = ElasticRobot(arm.model, arm.actuators, step=1e-3)
    q, qd, theta, thetad = at_start(arm)[0]
    plant.reset(q, qd, theta=theta, thetad=thetad)
    torques, measured = [], 0.0
    for k in range(round(1.2 / period)):
        t = k * period
        if k == round(0.2 / period):
            made.motion.go(arm.rest + 1.0, 2.0)
        since = t - 0.8
        sample = sample_of(made, t, plant.q, plant.theta)
        is_there = not 0.0 < since < gap - 1e-9
        if t > 0.3 and arrives is not None:
            is_there = arrives(k)
            since = since if is_there else t - measured
        if is_there:
            measured = t
            torques.append(made.update(sample).torque)
        elif since > 2.5 * period and round(since / period) % round(ticks / period) == 0:
            torques.append(made.update(sample._replace(is_late=True)).torque)
        else:
            torques.append(torques[-1])
        plant.step(torques[-1], period)
    return np.array(torques)


@pytest.mark.parametrize(
    ("name", "law", "period", "soon"),  # s
    [
        ("planar_two_link", "motor_pd", 1e-3, 0.02),
        ("planar_two_link", "state_feedback", 4e-3, 0.02),
        ("planar_two_link", "torque_control", 2e-3, 0.02),
        ("planar_two_link", "feedback_linearization", 4e-3, 0.02),
        ("planar_two_link", "computed_torque", 1e-3, np.inf),  # hardly damps what a gap leaves
        ("panda", "motor_pd", 4e-3, 0.02),
    ],
)
def test_no_gap_in_the_states_shakes_the_torque(name, law, period, soon):
    """No step is greater than without the gap by more than 5 % of the limit, and the torque is soon
    what it would have been."""
    limit = shipped(name).actuators.torque_limit
    smooth = torques_with_gap(law, period, 0.0, name=name)
    allowed = np.abs(np.diff(smooth, axis=0)).max(axis=0) + 0.05 * limit
    for gap in (3 * period, 0.01, 0.03, 0.1, 0.19):
        found = torques_with_gap(law, period, gap, name=name)
        begin, end = round(0.8 / period), 0.8 + gap + soon
        assert (np.abs(np.diff(found[begin:], axis=0)) <= allowed + 1e-9).all()
        is_back = period * np.arange(len(found)) >= end - 1e-9
        assert (np.abs(found - smooth)[is_back] < 0.05 * limit).all()


@pytest.mark.parametrize(
    ("name", "law", "period", "burst"),  # every law once, on both arms by turns
    [
        ("planar_two_link", "state_feedback", 4e-3, 3),
        ("panda", "motor_pd", 1e-3, 20),
        *(("planar_two_link", law, 1e-3, 20) for law in ("esp", "feedback_linearization")),
        *(("panda", law, 1e-3, 5) for law in ("torque_control", "computed_torque")),
        ("panda", "joint_impedance", 1e-3, 10),
    ],
)
def test_neither_do_bursts_jitter_or_gaps_again_and_again(name, law, period, burst):
    """The first gap hardly disturbed the arm; each further one amplified what was left of it, up to
    torques of twice their limit from cycle to cycle. A torque that is held from state to state may
    change by as much as it would have in that time."""
    arrivals = np.random.default_rng(0).random(2000)
    limit = shipped(name).actuators.torque_limit
    smooth = torques_with_gap(law, period, 0.0, name=name)
    allowed = np.abs(smooth[burst:] - smooth[:-burst]).max(axis=0) + 0.05 * limit
    for arrives in (
        lambda k: k % burst == 0,  # of a burst, the newest state counts
        lambda k: k * period % 0.06 < 0.03,
        lambda k: bool(arrivals[k] < 0.5),
    ):
        found = torques_with_gap(law, period, 0.0, arrives=arrives, name=name)
        assert (np.abs(np.diff(found, axis=0)) <= allowed).all()
        assert (np.abs(found - smooth) < 0.1 * limit).all()


@pytest.mark.parametrize(
    ("law", "period"),
    [("motor_pd", 4e-3), ("state_feedback", 4e-3), ("feedback_linearization", 1e-3)],
)
def test_nor_do_gaps_before_the_arm_is_back_on_its_way(law, period):
    """States for 20 ms of every 100, and one of ten: what had returned of the feedback in these 20
    ms set the arm moving for the next 80."""
    limit = shipped("planar_two_link").actuators.torque_limit
    arrivals = np.random.default_rng(0).random(2000)
    smooth = torques_with_gap(law, period, 0.0)
    allowed = np.abs(smooth[20:] - smooth[:-20]).max(axis=0) + 0.05 * limit
    for arrives in (lambda k: k * period % 0.1 < 0.02, lambda k: bool(arrivals[k] < 0.1)):
        found = torques_with_gap(law, period, 0.0, arrives=arrives)
        assert (np.abs(np.diff(found, axis=0)) <= allowed).all()
        assert (np.abs(found - smooth) < 0.1 * limit).all()


def test_feedback_after_a_long_silence_returns_in_steps():
    """If no cycle runs for 100 ms, as in a suspended process, not even late ones."""
    limit = shipped("planar_two_link").actuators.torque_limit
    found = torques_with_gap("motor_pd", 1e-3, 0.1, ticks=1.0)
    assert (np.abs(np.diff(found, axis=0)).max(axis=0) < 0.15 * limit).all()


@pytest.mark.parametrize(("late", "answered"), [(0.01, 5), (0.015, 3), (0.02, 10)])
def test_torques_that_are_late_for_a_second_do_not_shake_the_arm(late, answered):
    """The Panda at 1 kHz, moving; only every third to tenth state is answered, 10 to 20 ms late.
    With all of the feedback it oscillates, and reaches its torque limits within half a second."""
    arm = shipped("panda")
    laws = {
        name: ControllerSettings(law=name, period=1e-3, position=arm.rest)
        for name in ("motor_pd", "hold")
    }
    made = at_rest_under(
        arm, cycle=ArmSettings(transfer_time=0.1), controllers=laws, command_delay=1e-3
    )
    plant = ElasticRobot(arm.model, arm.actuators, step=1e-3)
    q, qd, theta, thetad = at_start(arm)[0]
    plant.reset(q, qd, theta=theta, thetad=thetad)
    motion, torque, sent, torques = np.array([0.5, -0.5] * 3 + [0.5]), at_start(arm)[2], [], []
    for k in range(2000):
        t, is_slow = 1e-3 * k, 800 <= k < 1800
        if k == 200:
            made.motion.go(arm.rest + motion, 1.5)
        if not is_slow or k % answered == 0:
            sample = sample_of(made, t, plant.q, plant.theta)
            delay = late if is_slow else 1e-3
            command = made.update(sample._replace(age=delay - 1e-3))
            assert command.mode.is_following, command.events
            sent.append((t + delay, command.torque))
        while sent and sent[0][0] <= t + 1e-3 + 1e-9:
            torque = sent.pop(0)[1]
        plant.step(torque, 1e-3)
        torques.append(torque)
    steps = np.abs(np.diff(torques, axis=0)).max(axis=0)
    assert (steps < 0.05 * arm.actuators.torque_limit).all()
    np.testing.assert_allclose(plant.q, arm.rest + motion, atol=5e-3)


def closed_loop(made: control.Arm, arm: Arm, seconds: float, push: np.ndarray) -> np.ndarray:
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
        plant.step(made.update(sample_of(made, k * PERIOD, q, theta)).torque, PERIOD)
        found.append(plant.state[0].copy())
    return np.array(found)


def follow(arm: Arm, delays: tuple[float, float], **settings) -> tuple[float, float]:
    """Largest error of the links on a 0.4 s motion, and the largest torque on a link by which the
    compensation explains it, of a plant with delays of sensors (whole cycles) and commands."""
    sensor, command = delays
    motion = splice(
        hold(arm.model.joint_names, arm.rest), 0.1, [0.5], [arm.rest + np.array([0.3, -0.4])]
    )
    made = at_rest_under(arm, motion, **settings)
    plant = ElasticRobot(arm.model, arm.actuators)
    plant.reset(arm.rest)
    line = DelayLine(command, DELAY_PERIOD, plant.motor_torque.copy())
    samples, error, explained = [], 0.0, 0.0
    for k in range(600):
        t = k * DELAY_PERIOD
        samples.append((plant.q.copy(), plant.theta.copy()))
        q, theta = samples[max(0, k - round(sensor / DELAY_PERIOD))]
        answer = made.update(sample_of(made, t, q, theta))
        assert answer.mode is Mode.HOLDING, answer.events
        for duration, torque in line.push(answer.torque):
            plant.step(torque, duration)
        error = max(error, np.abs(plant.q - motion(t + DELAY_PERIOD)[0]).max())
        compensation = getattr(made.transfer.law, "compensation", None)
        if compensation is not None:
            explained = max(explained, np.abs(compensation.link).max())
    return error, explained


@pytest.mark.parametrize(
    ("name", "delays", "compensated"),  # all pairs of values
    [
        ("motor_pd", (0.0, 3e-3), 0.0),
        ("motor_pd", (1e-3, 2.3e-3), 180.0),
        ("state_feedback", (0.0, 3e-3), 180.0),
        ("state_feedback", (1e-3, 2.3e-3), 0.0),
    ],
)
def test_known_delays_hardly_increase_the_error(name, delays, compensated):
    """With an exact model, also with compensation: it sees the torque that acted then, and so
    finds nothing to compensate."""
    arm, speed = linear_arm(), {"motor_pd": 80.0, "state_feedback": 40.0}[name]
    settings = holding(arm, name, bandwidth=speed, disturbance_bandwidth=compensated)
    undelayed, found = follow(arm, (0.0, 0.0), **settings)
    known = dict(zip(("sensor_delay", "command_delay"), delays, strict=True))
    delayed, found_late = follow(arm, delays, **settings, **known)
    assert delayed < 1.5 * undelayed + 2e-5
    assert found_late <= 1.5 * found + 0.02


def test_without_prediction_state_feedback_does_not_tolerate_the_delay():
    arm = linear_arm()
    settings = holding(arm, "state_feedback", bandwidth=60.0) | {"command_delay": 6e-3}
    predicted, _ = follow(arm, (0.0, 6e-3), **settings)
    assert predicted < 1e-3
    unwatched = ArmSettings(tracking_tolerance=0.0, transfer_time=0.1, load_tolerance=0.0)
    with pytest.raises(DynamicsError, match="diverges"):
        follow(arm, (0.0, 6e-3), **settings, cycle=unwatched, predicts_state=False)


def test_a_stop_acts_on_the_measured_state_also_if_it_begins_after_the_prediction():
    arm = linear_arm()
    made = at_rest_under(arm, command_delay=3e-3)
    (q, _, theta, _), _, _ = at_start(arm)
    for k in range(5):
        made.update(sample_of(made, k * PERIOD, q + 1e-3 * k, theta))
    assert made.feedback.is_predicted
    assert (np.concatenate(made.feedback.state) != np.concatenate(made.measured.state)).any()
    stopping = sample_of(made, 5 * PERIOD, q + 5e-3, theta)._replace(missing=LINKS)
    assert made.update(stopping).mode is Mode.STOPPING
    for row, measured in zip(made.feedback.state, made.measured.state, strict=True):
        np.testing.assert_array_equal(row, measured)


def test_observed_external_torques_are_compensated():
    arm, push = linear_arm(), np.array([0.0, 2.0])
    alone = holding(arm, "motor_pd", disturbance_bandwidth=0.0)
    without = closed_loop(at_rest_under(arm, **alone), arm, 1.0, push)[-1] - arm.rest
    cycle = ArmSettings(  # the push, from the first cycle on, is not to be taken for motion
        tracking_tolerance=0.0, transfer_time=0.1, observer_feedback=True, recovery_speed=1.0
    )
    made = at_rest_under(arm, cycle=cycle, **alone, observer_gain=20.0)
    countered = closed_loop(made, arm, 1.0, push)[-1] - arm.rest
    assert np.abs(made.measured.observer.residual).max() == pytest.approx(2.0, rel=0.02)
    assert np.abs(without).max() > 3e-3
    assert np.abs(countered).max() < 0.15 * np.abs(without).max()


def test_a_law_takes_over_without_a_jump_and_a_restart_discards_the_past():
    arm = linear_arm()
    made = at_rest_under(arm, lambda t: arm.rest[None], law="motor_pd")
    (q, _, theta, _), _, _ = at_start(arm)
    torques = []
    for k in range(80):
        if k == 10:
            made.choose_law("state_feedback")
        torques.append(made.update(sample_of(made, k * PERIOD, q + 0.01, theta + 0.01)).torque)
    wide = np.abs(torques[-1] - torques[9]).max()
    assert np.abs(np.diff(torques[10:], axis=0)).max() < 0.1 * wide + 1e-9
    assert made.measured.estimator.is_settled
    made.restart()
    assert not made.measured.estimator.is_settled


def test_a_stop_yields_at_the_limit_of_the_torques_sent():
    arm = linear_arm()
    made = at_rest_under(arm, cycle=AT_ONCE)
    made.limit(JointCommandLimits(arm.actuators.motor_names, torque=[3.0, 4.0]))
    made.design(arm.rest)  # another time, at rest elsewhere
    (q, _, theta, _), _, _ = at_start(arm)
    for k in range(40):
        sample = sample_of(made, k * PERIOD, q, theta + 0.5 * (k > 0))
        command = made.update(sample._replace(missing=LINKS if k else ""))
        if k > 30:  # the stop has taken over
            assert abs(command.torque[0]) == 3.0
            assert command.cuts == ()  # the law itself requests no more


def test_estimates_of_masses_are_kept_or_forgotten_on_request():
    arm = linear_arm()
    adaptation = AdaptationSettings(adapts="payload", rate=5.0)
    made = at_rest_under(arm, **holding(arm, "motor_pd", adaptation=adaptation))
    made.update(sample_of(made, 0.0, arm.rest, at_start(arm)[0][2]))
    assert made.adaptation is not None
    known = [(name, mass) for name, _, mass in made.adaptation.masses()]

    def masses() -> list[tuple[str, float]]:
        return [(name, mass) for name, mass, _ in made.adaptation.masses()]

    made.laws.adapt(False)
    made.design(arm.rest)  # designs new controllers
    made.activate()
    push = np.array([0.0, 2.0])
    closed_loop(made, arm, 0.1, push)
    assert masses() == known
    made.laws.adapt(True)
    made.restart()
    closed_loop(made, arm, 0.1, push)
    assert masses() != known
    made.laws.forget_adaptation()
    np.testing.assert_allclose([mass for _, mass in masses()], [mass for _, mass in known])
    made.choose_law("hold")
    assert made.adaptation is None


# Modes and faults; their table is tested in test_modes.py


class Run:
    """A cycle of 1 ms against the plant, and what it answers."""

    def __init__(self, cycle: ArmSettings | None = None, **settings) -> None:
        self.arm = arm = linear_arm()
        self.made = at_rest_under(arm, cycle=cycle or ArmSettings(transfer_time=0.1), **settings)
        self.plant = ElasticRobot(arm.model, arm.actuators)
        self.plant.reset(arm.rest)
        self.now = 0.0
        self.answers: list[Command] = []

    def step(self, missing: str = "", **more) -> Command:
        self.now += DELAY_PERIOD
        sample = sample_of(self.made, self.now, self.plant.q, self.plant.theta)
        command = self.made.update(sample._replace(missing=missing, **more))
        if command.torque is not None:
            self.plant.step(command.torque, DELAY_PERIOD)
        self.answers.append(command)
        return command

    def run(self, seconds: float, missing: str = "") -> Command:
        for _ in range(round(seconds / DELAY_PERIOD)):
            command = self.step(missing)
        return command

    def move(self, by: float, duration: float) -> None:
        goal = self.made.motion.desired[0] + by
        request = TrajectoryRequest(None, np.array([duration]), goal[None], None, None)
        self.made.motion.follow(request, self.plant.q, tolerance=0.1, lead=0.01)

    @property
    def events(self) -> list[str]:
        return [str(event) for command in self.answers for event in command.events]


@pytest.mark.parametrize(("missing", "law"), [(LINKS, "hold"), (MOTORS, ON_LINKS)])
def test_missing_states_stop_the_arm_in_motion_and_it_follows_again_at_rest(missing, law):
    run = Run()
    run.run(0.1)
    run.move(0.4, 1.0)
    assert run.run(0.4).mode is Mode.FOLLOWING
    speed = np.abs(run.plant.qd).max()
    before = run.answers[-1].torque
    command = run.step(missing)
    assert command.mode is Mode.STOPPING
    assert run.made.name == law
    assert np.abs(command.torque - before).max() < 1.0
    run.run(2.0, missing)
    assert np.abs(run.plant.qd).max() < 0.2 * speed
    assert run.run(1.5).mode is Mode.HOLDING
    assert run.made.name == "motor_pd"
    name = "link states" if missing == LINKS else "motor states"
    assert run.events == [f"{name} missing: ", f"{name} missing: cleared, following again"]


def test_without_states_the_arm_is_lost_and_the_caller_sends_the_torque_at_rest():
    run = Run()
    run.run(0.1)
    run.now += 0.3
    stamp = START + round(1e9 * run.now)
    lost = run.made.update(Sample(stamp, None, BOTH, "no states for 0.3 s"))
    assert (lost.mode, lost.torque) == (Mode.LOST, None)
    assert [str(event) for event in lost.events] == ["motor states missing: no states for 0.3 s"]
    rest = run.made.rest(stamp, DELAY_PERIOD)
    np.testing.assert_allclose(rest.torque, at_start(run.arm)[2], atol=1e-3)
    assert run.step().mode is Mode.LOST  # until the velocities are known
    modes = [run.step().mode for _ in range(60)]
    settled = next(k for k, mode in enumerate(modes) if mode is not Mode.LOST)
    assert settled * DELAY_PERIOD < 0.03
    assert Mode.LOST not in modes[settled:]
    assert run.made.times.period == pytest.approx(DELAY_PERIOD)  # not the time without torques
    assert run.run(0.5).mode is Mode.HOLDING
    assert np.abs(run.plant.q - run.arm.rest).max() < 1e-3


def test_an_arm_that_does_not_follow_stays_stopped_until_the_fault_is_cleared():
    run = Run(replace(ArmSettings(transfer_time=0.1), tracking_tolerance=0.04))
    run.run(0.1)
    run.move(0.3, 0.5)
    stuck = run.plant.q.copy(), run.plant.theta.copy()
    for _ in range(500):
        run.plant.reset(stuck[0], theta=stuck[1])
        command = run.step()
    assert command.mode is Mode.STOPPING
    (event,) = (text for text in run.events if "tracking" in text)
    assert "from the reference; allowed: 0.04 (tracking_tolerance)" in event
    assert run.run(1.0).mode is Mode.STOPPING
    run.made.clear_fault()
    assert run.run(0.1).mode is Mode.HOLDING


def test_a_cycle_without_a_finite_torque_sends_the_torque_at_rest():
    run = Run()
    run.run(0.1)
    command = run.step(external=np.array([1e300, np.inf]))
    assert command.mode is Mode.STOPPING
    np.testing.assert_allclose(command.torque, at_start(run.arm)[2], atol=1e-3)
    assert run.made.supervisor.fault is FAULTS[NOT_FINITE]
    assert run.run(0.5).mode is Mode.STOPPING
    assert np.abs(run.plant.q - run.arm.rest).max() < 1e-3


@pytest.mark.parametrize("how", ["gap", "restart"])
def test_a_jump_in_time_stops_an_arm_that_follows(how):
    run = Run(ArmSettings(transfer_time=0.1, state_timeout=0.05))
    run.run(0.1)
    run.move(0.4, 1.0)
    run.run(0.3)
    if how == "gap":
        run.plant.step(run.answers[-1].torque, 0.06)
        run.now += 0.06
    else:
        run.made.restart("the clock jumped by -5 s")
        run.now -= 0.05
    assert run.step().mode is Mode.STOPPING
    assert run.made.supervisor.fault is FAULTS[TIME]
    assert "jump in time" in run.events[0]
    assert run.run(2.0).mode is Mode.HOLDING


def test_interruptions_in_a_row_end_with_a_stop_that_lasts():
    run = Run(replace(ArmSettings(transfer_time=0.02), recovery_limit=2))
    run.run(0.1)
    for _ in range(3):
        run.run(0.05, LINKS)
        run.run(0.3)
    assert run.made.supervisor.mode is Mode.STOPPING
    assert run.events.count(f"{FAULTS[NO_LINKS].text}: cleared, following again") == 2
    assert any("interrupted 3 times within 60 s" in text for text in run.events)


def test_late_torques_stop_the_arm_with_the_law_that_tolerates_them():
    run = Run()
    run.run(0.1)
    for _ in range(150):
        command = run.step()
        run.made.note_delay(command.stamp + 9_000_000)
    command = run.step()
    assert command.mode is Mode.STOPPING
    assert run.made.transfer.law is run.made.laws.late
    assert any("9 ms after their states" in text for text in run.events)


# Motor encoders alone


@pytest.mark.parametrize("bad", ["rejected", "raising", "restarting", "wild"])
def test_hold_acts_on_the_motors_and_not_on_an_observer_that_fails(bad):
    """A moving arm whose observer receives bad samples from the start of the stop."""
    arm = linear_arm()
    made = at_rest_under(arm, estimation=MOTOR_ENCODERS, law="hold")
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
            made.measured.estimator.state.theta[:] = 9.0
        elif bad == "wild" and k % 10 == 5:
            theta += 2.0
        command = made.update(sample_of(made, k * PERIOD, q, theta, motor_torque=reported))
        lost += bool(made.measured.lost)
        assert np.isfinite(command.torque).all()
        plant.step(command.torque, PERIOD)
        reported = command.torque
    assert lost > 50
    assert not made.measured.is_settled
    assert np.abs(plant.state[1]).max() < 0.01
    assert np.abs(plant.state[0] - arm.rest).max() < 0.5


def test_motor_laws_never_use_the_observer_even_during_a_transfer():
    """Two arms at the same rest; the observer of one receives wrong torques."""
    arm = linear_arm()
    pair = [at_rest_under(arm, estimation=MOTOR_ENCODERS, law="hold") for _ in "ab"]
    (q, _, theta, _), _, load = at_start(arm)
    for k in range(80):
        torques = []
        for made, reported in zip(pair, (load, load + 20.0), strict=True):
            if k == 20:
                made.choose_law("motor_pd")
            rows = {"motor_torque": reported}
            torques.append(made.update(sample_of(made, k * PERIOD, q, theta + 1e-4 * k, **rows)))
        np.testing.assert_array_equal(torques[0].torque, torques[1].torque)
    states = [made.measured.estimator.state for made in pair]
    assert np.abs(states[0].theta - states[1].theta).max() > 1e-2


class Loop:
    """Arm, law and estimation from motor encoders, at 1 kHz or another period; a torque acts one
    period after the state for which it was computed."""

    def __init__(self, arm: Arm, q: np.ndarray, period: float, resolution: float = 0.0) -> None:
        """At rest at q, with gains of `arm.rest`."""
        self.period, self.now = period, 0.0
        cycle = ArmSettings(
            tracking_tolerance=0.0, transfer_time=0.0, feedforward_lead=1.5, state_timeout=1.0
        )
        self.arm = made = at_rest_under(
            arm, lambda t: q[None], cycle, estimation=MOTOR_ENCODERS, law="state_feedback"
        )
        (_, qd, theta, thetad), second, load = at_start(arm._replace(rest=q))
        made.change(replace(cycle, initial_stiffness=tuple(second[0])))
        made.activate(load)
        self.plant = ElasticRobot(arm.model, arm.actuators, step=1e-3)
        self.plant.reset(q, qd, theta=theta, thetad=thetad)
        self.encoder = Encoder(
            len(theta), period, resolution=resolution, noise=resolution / 3.0, seed=1
        )
        self.encoder.restart(self.plant.theta, self.plant.thetad)
        self.waiting = load.copy()
        self.answer()
        self.observer, self.filter = made.measured.estimator._observer, made.measured._motor_filter
        while not made.measured.knows_speed:  # until then, an arm that moves would be stopped
            self.step()

    def answer(self) -> None:
        plant = self.plant
        sample = sample_of(
            self.arm, self.now, plant.q, self.encoder.position, motor_torque=plant.motor_torque
        )
        self.waiting = self.arm.update(sample).torque

    def step(self, period: float = 0.0) -> None:
        period = period or self.period
        self.plant.step(self.waiting, period)
        self.now += period
        self.encoder.update(self.plant.theta, self.plant.thetad)
        self.answer()

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
    assert not loop.arm.measured.lost


@pytest.mark.parametrize("rate", [300.0, 1000.0])
def test_coarse_encoders_behind_rate_limits_do_not_shake_the_arm(rate):
    """Encoders of 10 bits, of motors and links: the feedback of their steps, delayed by the rate
    limits, drove the arm until it was stopped, and that stop failed."""
    arm, resolution = shipped("planar_two_link"), 2.0 * np.pi / 2**10
    made = control.Arm(arm.model, arm.actuators, cycle=ArmSettings(frozen_distance=0.0))
    made.design(arm.rest)
    limit, names = arm.actuators.torque_limit, arm.actuators.motor_names
    made.limit(JointCommandLimits(names, torque=limit, torque_rate=np.full(2, rate)))
    plant = ElasticRobot(arm.model, arm.actuators, step=DELAY_PERIOD)
    plant.reset(arm.rest)
    made.activate()
    for k in range(2000):
        now = START + round(SECOND * k * DELAY_PERIOD)
        q, theta = (np.round(x / resolution) * resolution for x in (plant.q, plant.theta))
        command = made.update(Sample(now, {"link_position": q, "motor_position": theta}))
        assert command.mode.is_following, command.events
        if k == 300:
            made.motion.go(arm.rest + 1.0, 1.0)
        plant.step(command.torque, DELAY_PERIOD)
    np.testing.assert_allclose(plant.q, arm.rest + 1.0, atol=0.15)


def test_a_stop_that_drives_the_arm_away_is_damped_and_then_silent():
    """Motor encoders of 8 bits and torques that change by 1 N m per cycle: feedback of velocities
    drives the arm. The stop moved the shoulder by 5.3 rad. Small waves on top of the steps hide
    that the encoders are coarse."""
    arm, resolution, rate = shipped("planar_two_link"), 2.0 * np.pi / 2**8, 1000.0
    cycle = ArmSettings(frozen_distance=0.0)  # between two counts, springs bend by that
    rigid_base = {
        name: ControllerSettings(law=name, base_frequency=0.0) for name in ("motor_pd", "hold")
    }
    settings = FlatnessSettings(law="motor_pd", controllers=rigid_base)
    made = control.Arm(arm.model, arm.actuators, settings, cycle)
    made.design(arm.rest)
    limit, names = arm.actuators.torque_limit, arm.actuators.motor_names
    rates = np.full(2, rate)
    made.limit(JointCommandLimits(names, torque=limit, torque_rate=rates))
    plant = ElasticRobot(arm.model, arm.actuators, step=DELAY_PERIOD)
    plant.reset(arm.rest)
    made.activate()
    torque, told, silent_at = plant.motor_torque.copy(), {}, 0.0
    for k in range(4000):
        now = START + round(SECOND * k * DELAY_PERIOD)
        theta = np.round(plant.theta / resolution) * resolution + 1e-6 * np.sin(0.1 * k)
        command = made.update(Sample(now, {"link_position": plant.q, "motor_position": theta}))
        told |= {event.fault.text: (k * DELAY_PERIOD, plant.q.copy()) for event in command.events}
        if k == 300:
            made.motion.go(arm.rest + 1.0, 1.0)
        if command.torque is not None:
            assert np.abs(command.torque - torque).max() <= rate * DELAY_PERIOD * (1.0 + 1e-9)
            torque = command.torque
        else:
            silent_at = silent_at or k * DELAY_PERIOD
            torque = made.rest(now).torque
        plant.step(torque, DELAY_PERIOD)
    (_, (stopped, place)), (what, (failed, _)) = told.items()
    assert what == "stop failed"
    assert failed - stopped <= 0.2
    assert silent_at == pytest.approx(failed + DAMPED_FOR, abs=2.0 * DELAY_PERIOD)
    assert abs(plant.q[0] - place[0]) < 1.0
    assert np.abs(plant.qd).max() < 0.05


def activated(arm: Arm, law: str) -> tuple[control.Arm, ElasticRobot]:
    """The controller of an arm at rest, and its plant."""
    made = control.Arm(arm.model, arm.actuators, FlatnessSettings(law=law))
    made.design(arm.rest)
    plant = ElasticRobot(arm.model, arm.actuators, step=DELAY_PERIOD)
    plant.reset(arm.rest)
    made.activate()
    return made, plant


@pytest.mark.parametrize(("bits", "far_at_most"), [(6, 1.0), (7, 0.3), (8, 0.3)])
@pytest.mark.parametrize("sides", ["both", "motors"])
@pytest.mark.parametrize("law", ["motor_pd", "state_feedback"])
def test_encoders_too_coarse_for_the_gains_stop_the_arm_with_its_name(
    law, sides, bits, far_at_most
):
    """It went on for up to 6.4 rad, 4.6 of them beyond its limits. The stop interpolates between
    the steps; where it cannot catch the arm that the steps have set moving, it fails, and is
    damped, within the limits in all cases. It gained up to 14 J; now it gains nothing."""
    arm, resolution = shipped("planar_two_link"), 2.0 * np.pi / 2**bits
    made, plant = activated(arm, law)
    limits, events, place, far, beyond = arm.model.limits, [], None, 0.0, 0.0
    energy = []  # J, of the stop: kinetic, and of what the springs carry besides gravity
    for k in range(2000):
        now = START + round(SECOND * k * DELAY_PERIOD)
        theta = np.round(plant.theta / resolution) * resolution
        q = np.round(plant.q / resolution) * resolution if sides == "both" else plant.q
        command = made.update(Sample(now, {"link_position": q, "motor_position": theta}))
        events += command.events
        if k == 300 and command.mode.is_following:
            made.motion.go(arm.rest + 0.5, 1.0)
        plant.step(made.rest(now).torque if command.torque is None else command.torque, 1e-3)
        beyond = max(beyond, (limits.lower - plant.q).max(), (plant.q - limits.upper).max())
        if place is None and made.supervisor.fault is FAULTS[COARSE]:
            place = plant.q.copy()
        if place is not None:
            far = max(far, float(np.abs(plant.q - place).max()))
            free = plant.joint_torque - gravity_forces(arm.model, plant.q)
            stored = 0.5 * (free**2 / made.measured.springs.stiffness_felt).sum()
            energy.append(plant.energy().kinetic + stored)
    (event,) = (event for event in events if event.fault.code == COARSE)
    assert f"steps of {resolution:.3g}, each of which changes a torque by" in event.text
    assert any(f"'{name}'" in event.text for name in arm.model.joint_names)
    later = {each.fault.code for each in events[events.index(event) + 1 :]}
    assert later <= {STOP_FAILED}
    assert max(energy) < energy[0] + 0.1
    assert far < far_at_most
    assert beyond <= 0.0
    made.deactivate()
    made.activate()
    assert made.update(Sample(now + 1_000_000, {"link_position": q, "motor_position": theta}))
    assert made.supervisor.fault is FAULTS[IMPLAUSIBLE]  # its steps are known now


@pytest.mark.parametrize(("law", "bits"), [("motor_pd", 10), ("computed_torque", 12)])
@pytest.mark.parametrize("without_links", [True, False])
def test_coarse_encoders_stop_a_motion_also_without_links(law, bits, without_links):
    """Without links, the motors seemed to go on as fast as they were, and at 12 bits the elbow,
    fine enough to be damped less, took over the motion of the shoulder: both stops failed."""
    arm, resolution = shipped("planar_two_link"), 2.0 * np.pi / 2**bits
    made, plant = activated(arm, law)
    energy, events = [], []
    for k in range(2000):
        now, stops = START + round(SECOND * k * DELAY_PERIOD), k >= 800
        q, theta = (np.round(x / resolution) * resolution for x in (plant.q, plant.theta))
        rows = {"link_position": q, "motor_position": theta}
        if stops and without_links:
            rows = {"motor_position": theta}
        if k == 300:
            made.motion.go(arm.rest + 0.5, 1.0)
        if k == 800:
            assert np.abs(plant.qd).min() > 1.0  # rad/s
            made.fail(OVERLOAD, "stop")
        missing = LINKS if stops and without_links else ""
        command = made.update(Sample(now, rows, missing))
        events += command.events
        plant.step(command.torque, DELAY_PERIOD)
        if stops:
            energy.append(plant.energy().kinetic)
    assert made.supervisor.mode is Mode.STOPPING, events
    assert max(energy) < energy[0] + 0.2
    assert np.abs(plant.qd).max() < 0.1


def test_steps_of_encoders_do_not_keep_a_stopped_arm_moving():
    """At 250 Hz, each step of 12 bits is a velocity of 0.6 rad/s to the filter, and changed a
    torque of the Panda's stop by half of its limit, for ever; a wrist swung at 0.9 rad/s."""
    arm, period = shipped("panda"), 4e-3
    laws = {
        name: ControllerSettings(law=name, period=period, position=arm.rest)
        for name in ("motor_pd", "hold")
    }
    made, plant = at_rest_under(arm, controllers=laws), ElasticRobot(*arm[:2], step=1e-3)
    resolution, sent = 2.0 * np.pi / 2**12, []
    plant.reset(arm.rest)
    for k in range(400):
        if k == 20:
            made.motion.go(arm.rest + 0.5, 1.0)
        if k == 150:
            assert np.abs(plant.qd).min() > 0.5  # rad/s
            made.fail(OVERLOAD, "stop")
        q, theta = (np.round(x / resolution) * resolution for x in (plant.q, plant.theta))
        sent.append(made.update(sample_of(made, k * period, q, theta)).torque.copy())
        plant.step(sent[-1], period)
    assert made.supervisor.mode is Mode.STOPPING
    assert np.abs(plant.thetad).max() < 0.1
    assert (np.ptp(sent[-50:], axis=0) < 0.1 * arm.actuators.torque_limit).all()


@pytest.mark.parametrize(("law", "bits"), [("motor_pd", 12), ("state_feedback", 11)])
def test_coarse_encoders_are_no_frozen_ones_and_their_stop_gains_little_energy(law, bits):
    """At 250 Hz, a motor had bent its spring before its link moved by a step, and the hold after
    the stop was a motion: links were "frozen". The last torque, faded out, added 2 J, now 0.2."""
    arm, period = shipped("planar_two_link"), 4e-3
    laws = {
        name: ControllerSettings(law=name, period=period, position=arm.rest)
        for name in (law, "hold")
    }
    made = at_rest_under(arm, law=law, controllers=laws)
    plant = ElasticRobot(*arm[:2], step=1e-3)
    resolution, energy, told = 2.0 * np.pi / 2**bits, [], []
    plant.reset(arm.rest)
    for k in range(750):
        if k == 75:
            made.motion.go(arm.rest + 0.5, 1.0)
        q, theta = (np.round(x / resolution) * resolution for x in (plant.q, plant.theta))
        missing = LINKS if 200 <= k < 262 else ""
        command = made.update(sample_of(made, k * period, q, theta)._replace(missing=missing))
        told += [str(event) for event in command.events]
        if command.mode is Mode.STOPPING:
            free = plant.joint_torque - gravity_forces(arm.model, plant.q)
            stored = 0.5 * (free**2 / made.measured.springs.stiffness_felt).sum()
            energy.append(plant.energy().kinetic + stored)
        plant.step(command.torque, period)
    assert command.mode is Mode.HOLDING
    assert told == ["link states missing: ", "link states missing: cleared, following again"]
    assert max(energy) < energy[0] + 0.3


@pytest.mark.parametrize("name", SHIPPED)
def test_every_law_takes_encoders_of_14_bits(name):
    arm = shipped(name)
    made = control.Arm(arm.model, arm.actuators)
    made.design(arm.rest)
    for law in LAWS:
        assert (RELAY * made.laws.needed_resolution(law) > 2.0 * np.pi / 2**14).all(), law


def coarser(made: control.Arm, law: str) -> tuple[int, float]:
    """The encoder of the elbow whose steps cost most, 0: link, 1: motor, and the resolution that it
    needs."""
    needed = made.laws.needed_resolution(law)[1::2]
    return int(needed.argmin()), float(needed.min())


@pytest.mark.parametrize("fault", [OVERSPEED, CHATTER, OVERLOAD, COARSE])
@pytest.mark.parametrize("law", LAWS)
def test_whatever_the_law_a_fault_stops_it_with_the_name_of_the_joint(law, fault):
    """The elbow is faster than its limit, is shaken, bends its spring, or has a coarse encoder."""
    arm = shipped("planar_two_link")
    cycle = ArmSettings(
        tracking_tolerance=0.0, transfer_time=0.0, state_speed_factor=0.0, frozen_distance=0.0
    )
    laws = {name: ControllerSettings(law=name) for name in {law, "hold"}}
    made = at_rest_under(arm, None, cycle, law=law, controllers=laws)
    (q, _, theta, _), _, _ = at_start(arm)
    rules, elbow = made.supervisor.rules, np.array([0.0, 1.0])
    side, needed = coarser(made, law)
    events = []
    if fault == CHATTER:  # its speed, by the filters, is not judged
        made.supervisor.rules = rules._replace(velocity=np.full(2, np.inf))
    for k in range(1300):
        t, late = k * DELAY_PERIOD, max(k * DELAY_PERIOD - 0.1, 0.0)  # it has been at rest before
        wave = 1e-5 * np.sin(100.0 * t) if fault != COARSE else 0.0
        off = np.full(2, wave)  # of the link and the motor of the elbow
        if fault == OVERSPEED:
            off += 1.3 * rules.velocity[1] * (2.5 * late**2 if late < 0.2 else late - 0.1)
        elif fault == OVERLOAD:
            bend = 2.2 * rules.external_load[1] / made.measured.springs.stiffness_felt[1]
            off[1] += bend * min(late, 1.0)
        elif fault == CHATTER and late > 0.0:
            off[side] += 2.0 * needed * (-1) ** k
        elif fault == COARSE:
            off[side] += 4.0 * needed * (k // 10 % 2)
        command = made.update(sample_of(made, t, q + off[0] * elbow, theta + off[1] * elbow))
        events += command.events
        if not command.mode.is_following:
            break
    (event,) = events
    assert event.fault.code == fault
    assert "'elbow'" in event.text
    assert command.mode is Mode.STOPPING


def test_the_damping_after_a_failed_stop_needs_motor_states():
    arm = shipped("planar_two_link")
    made = control.Arm(arm.model, arm.actuators)
    made.design(arm.rest)
    made.activate()
    (q, _, theta, _), _, _ = at_start(arm)
    slow = np.linspace(0.0, 1e-4, 10)  # which shows that the encoders are fine
    places = np.concatenate([np.zeros(50), slow, np.linspace(0.0, 6.0, 2000)])  # 3 rad/s
    for k, x in enumerate(places):
        command = made.update(sample_of(made, k * DELAY_PERIOD, q + x, theta + x))
        if made.supervisor.is_final:
            break
    assert made.supervisor.is_final
    assert command.torque is not None  # damped
    rest = made.rest(command.stamp + SECOND // 1000, DELAY_PERIOD).torque
    assert (command.torque < rest).all()  # against the motion
    lost = sample_of(made, (k + 1) * DELAY_PERIOD, q, theta)._replace(missing=MOTORS)
    assert made.update(lost).torque is None
    sent = made.transfer.torque.copy()
    made.resume_from_balance(lost.stamp)  # the fault is cleared while a torque damps the arm
    np.testing.assert_array_equal(made.transfer.torque, sent)
    made.resume_from_balance(lost.stamp + 10 * SECOND)  # brakes may hold it elsewhere by then
    np.testing.assert_array_equal(made.transfer.torque, made.measured.holding_torque())
    assert np.abs(made.transfer.torque - sent).max() > 0.1


@pytest.mark.parametrize("name", ["panda", "planar_two_link", "antagonistic_elbow"])
def test_no_activation_reactivation_or_return_from_lost_states_moves_a_resting_arm(name):
    """By more than 1 mrad, even if it is heavier than its model: brakes hold the arm until the
    first torque, and drives keep the last one; the stiffness does not change."""
    arm = shipped(name)
    gravity = tuple(1.1 * arm.model.gravity)
    loaded = arm._replace(model=load_urdf(CONFIG / "robots" / f"{name}.urdf", gravity=gravity))
    (q, qd, theta, thetad), second, _ = at_start(loaded)
    cycle = ArmSettings(initial_stiffness=tuple(second[0]))
    made = control.Arm(arm.model, arm.actuators, cycle=cycle)
    made.design(arm.rest)
    plant = ElasticRobot(loaded.model, arm.actuators)
    plant.reset(q, qd, theta=theta, thetad=thetad)
    now, torque, moved = START, None, 0.0

    def run(seconds: float, missing: str = "") -> None:
        nonlocal now, torque, moved
        for _ in range(round(seconds / DELAY_PERIOD)):
            now += round(SECOND * DELAY_PERIOD)
            rows = {"link_position": plant.q.copy(), "motor_position": plant.theta.copy()}
            if missing in POSITIONS:
                del rows[POSITIONS[missing]]
            command = made.update(Sample(now, None if missing == BOTH else rows, missing))
            if command.mode is Mode.LOST:
                command = made.rest(now)
            torque = command.torque if command.torque is not None else torque
            if torque is not None:
                plant.step(torque, DELAY_PERIOD)
            moved = max(moved, float(np.abs(plant.q - arm.rest).max()))

    made.activate()
    run(1.0)
    assert made.supervisor.mode is Mode.HOLDING
    for missing, mode in (
        (BOTH, Mode.LOST), (LINKS, Mode.STOPPING), (MOTORS, Mode.STOPPING), (BOTH, Mode.LOST),
    ):  # fmt: skip
        run(0.3, missing)
        assert made.supervisor.mode is mode
        run(1.0)
        assert made.supervisor.mode is Mode.HOLDING
    for _ in range(2):
        now += round(SECOND * DELAY_PERIOD)
        torque = made.rest(now, DELAY_PERIOD).torque
        made.deactivate()
        run(0.2)
        made.activate()
        run(1.0)
        assert made.supervisor.mode is Mode.HOLDING
    assert moved < 1e-3


def rows_of(command: Command) -> list[np.ndarray]:
    return [row for row in command if isinstance(row, np.ndarray)] + list(command.estimated)


def test_a_command_is_a_value_that_later_cycles_do_not_change():
    arm = linear_arm()
    made = at_rest_under(arm)
    (q, _, theta, _), _, _ = at_start(arm)
    first = made.update(sample_of(made, 0.0, q, theta))
    before = [row.copy() for row in rows_of(first)]
    for k in range(1, 20):
        made.update(sample_of(made, k * PERIOD, q + 1e-3 * k, theta - 1e-3 * k))
    made.rest(START + SECOND, PERIOD)
    assert len(before) == 10
    for row, value in zip(rows_of(first), before, strict=True):
        np.testing.assert_array_equal(row, value)


@pytest.mark.parametrize("law", ["hold", "motor_pd"])
def test_torques_along_the_motion_are_computed_for_laws_that_use_it(law, monkeypatch):
    arm = linear_arm()
    (q, _, theta, _), _, load = at_start(arm)
    made, computed = at_rest_under(arm, law=law), []
    compute = made.reference.compute_torques
    monkeypatch.setattr(made.reference, "compute_torques", lambda: computed.append(compute()))
    commands = [made.update(sample_of(made, k * PERIOD, q, theta)) for k in range(3)]
    np.testing.assert_allclose(commands[-1].torque, load, atol=1e-6)
    assert len(computed) == (0 if law == "hold" else 3)
