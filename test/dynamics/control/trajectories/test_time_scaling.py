# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Slowing down: the scaling law against recomputed dynamics, the factor against brute force."""

from dataclasses import replace

import numpy as np
import pytest

from multibody_dynamics.dynamics.control import QUANTITIES, MotionLimits, scale_time, slow_down
from multibody_dynamics.dynamics.control.trajectories import time_scaling
from multibody_dynamics.dynamics.control.trajectories.time_scaling import SlowedReference
from multibody_dynamics.dynamics.core import InputError, TrajectoryError
from multibody_dynamics.dynamics.elastic import (
    Actuators,
    Antagonistic,
    CubicSpring,
    LinearSpring,
    Motor,
    MotorMotion,
    Rigid,
    SeriesElastic,
    load_actuators,
    motor_motion,
)
from multibody_dynamics.dynamics.mechanisms import load_robot
from multibody_dynamics.dynamics.motion import (
    Reference,
    Trajectory,
    hold,
    interpolate,
    sum_of_sines,
)
from multibody_dynamics.dynamics.rigid import gravity_forces, inverse_dynamics, mass_matrix
from rejections import assert_rejected
from robots import CONFIG, panda, sprung_five_bar, two_link_planar

READY = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.5])


def panda_joints() -> Actuators:
    path = CONFIG / "elastic_joints" / "panda.yaml"
    return load_actuators(path, panda().joint_names, panda().joint_types)


def fast_motion(seed: int = 0, duration: float = 1.5) -> Trajectory:
    points = READY + np.random.default_rng(seed).uniform(-0.5, 0.5, (6, 7))
    return interpolate(panda().joint_names, np.linspace(0.3, 0.3 + duration, 6), points)


def sines() -> Reference:
    rng = np.random.default_rng(4)
    a, b = rng.uniform(-0.6, 0.6, (2, 7, 3))
    return sum_of_sines(panda().joint_names, READY, a, b, 2.0, 2.0, start_time=1.0)


def compliance(joints: Actuators) -> np.ndarray:
    return np.array([1.0 / each.spring.K for each in joints.actuators])


def motors_of(joints: Actuators, states: np.ndarray, torque) -> MotorMotion:
    """The flat map of linear springs, by hand."""
    bent = compliance(joints) * np.stack(torque, axis=-2)
    theta, thetad, thetadd = np.moveaxis(states[..., :3, :] + bent, -2, 0)
    friction = np.array(
        [[m.viscous, m.coulomb, m.coulomb_velocity] for m in joints.motors]
    ).T  # fmt: skip
    effort = joints.motor_inertia * thetadd + torque.tau
    effort += friction[0] * thetad + friction[1] * np.tanh(thetad / friction[2])
    return MotorMotion(theta, thetad, thetadd, effort, bent[..., 0, :])


def brute_force(reference: Reference, model, joints, count: int = 8001) -> np.ndarray:
    """The eight quantities (8, k, n) at dense times, with the dynamics computed anew at each."""
    states = reference.sample(np.linspace(reference.start_time, reference.end_time, count))
    torque = inverse_dynamics(model, *np.moveaxis(states, 1, 0))
    motor = motors_of(joints, states, torque)
    return np.stack(
        [torque.tau, torque.tau_dot, *(states[:, k] for k in (1, 2, 3)), motor.torque,
         motor.velocity, motor.position - states[:, 0]]
    )  # fmt: skip


def limits_between(reference: Reference, which: str, model, joints) -> MotionLimits:
    """Limits far above the motion, except one halfway between the values at rest and in motion."""
    moving = np.abs(brute_force(reference, model, joints)).max(axis=1)
    path = reference.sample(np.linspace(reference.start_time, reference.end_time, 501))
    path[:, 1:] = 0.0
    g = np.abs(inverse_dynamics(model, *np.moveaxis(path, 1, 0)).tau).max(axis=0)
    still = np.array([g, *np.zeros((4, len(g))), g, 0 * g, g * compliance(joints)])
    values = dict(zip(QUANTITIES, 3.0 * np.maximum(moving, still), strict=True))
    i = QUANTITIES.index(which)
    values[which] = np.maximum(0.5 * (still + moving)[i], 1.05 * still[i])
    return MotionLimits(model.joint_names, **values)


def worst(reference: Reference, model, joints, limits: MotionLimits) -> float:
    allowed = np.stack([getattr(limits, quantity) for quantity in QUANTITIES])
    return float((np.abs(brute_force(reference, model, joints)) / allowed[:, None]).max())


# the factor


@pytest.mark.parametrize(
    ("quantity", "motion"), list(zip(QUANTITIES, 4 * (fast_motion, sines), strict=True))
)
def test_the_factor_is_the_smallest_that_keeps_each_kind_of_limit(quantity, motion):
    model, joints, reference = panda(), panda_joints(), motion()
    limits = limits_between(reference, quantity, model, joints)
    result = scale_time(reference, model, joints, limits)
    assert result.factor > 1.0
    assert result.binding.quantity == quantity
    assert result.binding.utilisation == pytest.approx(1.0, abs=2e-6)
    assert 1.0 - 1e-4 < worst(result.trajectory, model, joints, limits) < 1.0 + 2e-6
    faster = slow_down(reference, max(1.0, result.factor * (1.0 - 1e-3)))
    assert worst(faster, model, joints, limits) > 1.0


def test_limits_of_the_robot_and_its_motors():
    model, joints, reference = panda(), panda_joints(), fast_motion()
    limits = MotionLimits.of_robot(model, joints, torque_rate=500.0, deflection=0.03)
    result = scale_time(reference, model, joints, limits)
    assert worst(result.trajectory, model, joints, limits) == pytest.approx(1.0, abs=1e-5)
    np.testing.assert_array_equal(limits.motor_torque, joints.torque_limit)
    np.testing.assert_array_equal(limits.joint_speed, model.limits.velocity)


@pytest.mark.parametrize(("quantity", "order"), [("acceleration", 2), ("jerk", 3)])
def test_acceleration_and_jerk_of_the_urdf_slow_a_motion_by_their_power_of_time(quantity, order):
    joints, reference = panda_joints(), fast_motion()
    model, peaks = panda(), np.abs(reference.peak_values()[order])
    allowed = np.where(np.arange(model.n) == 2, peaks / 3.0, np.inf)
    loose = model.limits._replace(velocity=np.full(model.n, np.inf), **{quantity: allowed})
    limits = MotionLimits.of_robot(replace(model, limits=loose), joints)
    limits = replace(limits, joint_torque=np.inf, motor_torque=np.inf, motor_speed=np.inf)
    result = scale_time(reference, model, joints, limits)
    assert result.factor == pytest.approx(3.0 ** (1.0 / order), rel=1e-3)
    assert result.binding.quantity == f"joint_{quantity}"


def swing() -> tuple[Trajectory, Actuators]:
    """A pendulum (two links in line) swinging at its natural frequency: almost no torque."""
    model = two_link_planar()
    stiffness = gravity_forces(model, [np.pi / 2 + 0.01, 0.0])[0] / 0.01
    omega = np.sqrt(stiffness / mass_matrix(model, np.zeros(2))[0, 0])
    t = np.linspace(0.0, 24.0, 481)
    amplitude = 0.25 * np.exp(-(((t - 12.0) / 4.0) ** 2)) * np.sin(np.pi * t / 24.0) ** 2
    points = np.stack([np.pi / 2 + amplitude * np.sin(omega * t), 0.0 * t], axis=1)
    spring = SeriesElastic(Motor(0.1), LinearSpring(900.0))
    joints = Actuators(model.joint_names, (spring, spring))
    return interpolate(model.joint_names, t, points), joints


def test_passive_springs_and_dampers_scale_each_by_its_power_of_time(tmp_path):
    springs = sprung_five_bar(tmp_path)
    model = load_robot(CONFIG / "mechanisms" / "five_bar.urdf", springs)
    joints = load_actuators(springs, model.joint_names)
    reference = interpolate(model.joint_names, [0.0, 0.4], [model.home, model.home + 0.2])
    limits = MotionLimits.of_robot(model, joints)
    motion = time_scaling._SampledMotion(reference, model, joints, limits, None)
    states = slow_down(reference, 1.7).sample(1.7 * motion.times)
    expected, found = inverse_dynamics(model, *np.moveaxis(states, 1, 0)), motion.values(1.7)
    for k in range(2):
        size = np.abs(expected[k]).max()
        np.testing.assert_allclose(found[:, 2 * k : 2 * k + 2], expected[k], atol=1e-10 * size)


@pytest.mark.parametrize(("needed", "expected"), [(1.1, "first"), (1.5, "second")])
def test_the_smallest_factor_is_found_even_where_slowing_down_raises_a_load(needed, expected):
    """The torque rate of the swing is s^-1 (1 - s^-2) times a constant, greatest at s = 1.7."""
    model = two_link_planar()
    reference, joints = swing()
    factors = np.geomspace(1.0, 10.0, 40)
    rates = [
        np.abs(brute_force(slow_down(reference, s), model, joints, 2401)[1, :, 0]).max()
        for s in factors
    ]
    assert 1.5 < factors[np.argmax(rates)] < 2.1
    allowed = 0.5 * max(rates)
    speed = np.abs(reference.peak_values()[1, 0])
    limits = MotionLimits(
        model.joint_names, torque_rate=[allowed, np.inf], joint_speed=[speed / needed, np.inf]
    )
    factor = scale_time(reference, model, joints, limits).factor
    if expected == "first":
        assert factor == pytest.approx(needed, rel=0.01)
    else:
        last = np.flatnonzero(np.array(rates) > allowed)[-1]
        assert factors[last] < factor < factors[last + 1]


def test_a_ballistic_motion_may_pass_where_the_arm_could_not_hold():
    model = two_link_planar()
    reference, joints = swing()
    at_rest = np.abs(gravity_forces(model, reference.extremes()[1][0]))[0]
    limits = MotionLimits(model.joint_names, joint_torque=[0.5 * at_rest, np.inf])
    assert scale_time(reference, model, joints, limits).factor == 1.0
    slower = MotionLimits(
        model.joint_names, joint_torque=[0.5 * at_rest, np.inf], joint_speed=[0.1, np.inf]
    )
    with pytest.raises(TrajectoryError, match="standstill, joint_torque of joint 'shoulder'"):
        scale_time(reference, model, joints, slower, slowest=10.0)


def test_a_motion_within_its_limits_stays_as_it_is():
    model, joints, reference = panda(), panda_joints(), fast_motion()
    result = scale_time(reference, model, joints, MotionLimits(model.joint_names, motor_torque=1e4))
    assert result.factor == 1.0
    assert result.trajectory is reference
    assert result.binding is None
    assert result.before == result.after
    still = hold(model.joint_names, READY)
    limits = MotionLimits.of_robot(model, joints)
    assert scale_time(still, model, joints, limits).trajectory is still


def nonlinear_arm() -> tuple[Actuators, Reference, np.ndarray]:
    """A cubic spring and an antagonistic pair, a motion, and the stiffness of the pair."""
    model = two_link_planar()
    motor = Motor(0.05, viscous=0.3, torque_limit=70.0, speed_limit=8.0)
    pulling = CubicSpring(100.0, 5e3, travel=(0.0, 0.4))
    actuators = Actuators(
        model.joint_names,
        (
            SeriesElastic(motor, CubicSpring(300.0, 2e4, travel=(-0.25, 0.25))),
            Antagonistic(motor, motor, pulling, pulling),
        ),
    )
    reference = interpolate(
        model.joint_names, [0.0, 0.5, 0.9], [[1.2, 0.3], [0.2, 0.8], [1.0, 0.0]]
    )
    return actuators, reference, np.array([400.0])


def test_nonlinear_springs_and_two_motors_in_a_joint():
    """Against the flat relations at dense times."""
    model, motor = two_link_planar(), Motor(0.05)
    actuators, reference, stiffness = nonlinear_arm()
    limits = MotionLimits.of_robot(model, actuators, torque_rate=400.0)
    result = scale_time(reference, model, actuators, limits, stiffness=stiffness)
    assert result.factor > 1.0
    assert len(limits.motor_torque) == len(actuators.motor_names) == 3

    def worst_of(motion: Reference) -> float:
        times = np.linspace(motion.start_time, motion.end_time, 4001)
        rows = np.moveaxis(motion.sample(times), 1, 0)
        Q = inverse_dynamics(model, *rows)
        second = np.array([stiffness, [0.0], [0.0]])
        motors = motor_motion(actuators, motion.sample(times), Q, second, beyond="continue")
        return max(
            np.abs(motors.torque).max() / 70.0,
            np.abs(motors.velocity).max() / 8.0,
            np.abs(motors.deflection[:, 0]).max() / 0.25,
            np.abs(motors.deflection[:, 1:] - 0.2).max() / 0.2,
            np.abs(Q.tau_dot).max() / 400.0,
        )

    assert worst_of(result.trajectory) == pytest.approx(1.0, abs=1e-4)
    assert worst_of(reference) > 1.0
    damped = SeriesElastic(motor, CubicSpring(300.0, 2e4), damping=1.0)
    with pytest.raises(InputError, match="'shoulder': its spring is damped"):
        scale_time(
            reference,
            model,
            Actuators(model.joint_names, (damped, Rigid(motor))),
            MotionLimits(model.joint_names),
        )
    rotors = model.with_reflected_inertia([0.1, 0.0])
    with pytest.raises(InputError, match="the rotor would be counted twice"):
        scale_time(reference, rotors, actuators, limits, stiffness=stiffness)


def test_springs_that_only_pull_keep_the_ends_of_their_travel():
    model = two_link_planar()
    actuators, reference, stiffness = nonlinear_arm()
    second = np.array([stiffness, [0.0], [0.0]])
    states = reference.sample(np.linspace(reference.start_time, reference.end_time, 4001))

    def pull(states: np.ndarray) -> np.ndarray:
        Q = inverse_dynamics(model, *np.moveaxis(states, 1, 0))
        return motor_motion(actuators, states, Q, second, beyond="continue").deflection[:, 1:]

    moving, still = pull(states), pull(states * np.array([1, 0, 0, 0, 0])[:, None])
    upper = 0.5 * (moving.max() + still.max())
    ends = (min(moving.min(), still.min()) - 0.01, upper)
    limits = MotionLimits(
        model.joint_names,
        motor_names=actuators.motor_names,
        deflection=[(-np.inf, np.inf), ends, ends],
    )
    result = scale_time(reference, model, actuators, limits, stiffness=stiffness)
    assert result.factor > 1.0
    assert result.binding.limit == pytest.approx(upper)
    assert result.binding.value == pytest.approx(upper, rel=1e-6)
    assert len(result.after) == 2
    slow = result.trajectory
    dense = slow.sample(np.linspace(slow.start_time, slow.end_time, 4001))
    assert pull(dense).max() == pytest.approx(upper, rel=1e-5)


# the report


def test_the_report_agrees_with_brute_force_before_and_after():
    model, joints, reference = panda(), panda_joints(), fast_motion(2)
    limits = MotionLimits.of_robot(model, joints, torque_rate=400.0)
    result = scale_time(reference, model, joints, limits)
    for motion, uses in ((reference, result.before), (result.trajectory, result.after)):
        peaks = np.abs(brute_force(motion, model, joints)).max(axis=1)
        assert len(uses) == 7 * 5  # no deflection limit
        assert [use.utilisation for use in uses] == sorted(
            (use.utilisation for use in uses), reverse=True
        )
        for use in uses:
            i, j = QUANTITIES.index(use.quantity), model.joint_index(use.joint)
            assert abs(use.value) == pytest.approx(peaks[i, j], rel=1e-4)
            assert abs(use.limit) == getattr(limits, use.quantity)[j]
            assert use.utilisation == use.value / use.limit
            state = motion(use.time)
            torque = inverse_dynamics(model, *state)
            motor = motors_of(joints, state, torque)
            there = (torque.tau, torque.tau_dot, *state[1:4], motor.torque, motor.velocity)
            assert there[i][j] == pytest.approx(use.value, rel=1e-6)
    history = result.history
    start, k = reference.start_time, len(history.times) // 3
    for motion, share, uses, s in (
        (reference, history.before, result.before, 1.0),
        (result.trajectory, history.after, result.after, result.factor),
    ):
        state = motion(start + s * (history.times[k] - start))
        rate = history.limits.index(("torque_rate", "panda_joint2"))
        assert share[k, rate] == pytest.approx(inverse_dynamics(model, *state).tau_dot[1] / 400.0)
        assert np.abs(share).max() == pytest.approx(uses[0].utilisation)
    table = result.describe()
    assert str(result.binding) in table
    assert len(table.splitlines()) == 1 + 35


def test_maxima_between_the_samples_are_found():
    """The maximum of a peak far narrower than the first samples."""
    model, joints = panda(), panda_joints()
    reference = fast_motion(3)
    limits = MotionLimits(model.joint_names, torque_rate=200.0)
    result = scale_time(reference, model, joints, limits)
    binding = result.binding
    near = binding.time + np.linspace(-2e-3, 2e-3, 2001)
    states = result.trajectory.sample(near)
    rates = inverse_dynamics(model, *np.moveaxis(states, 1, 0)).tau_dot
    peak = np.abs(rates[:, model.joint_index(binding.joint)]).max()
    assert peak == pytest.approx(200.0, rel=2e-6)


# the slower motion


@pytest.mark.parametrize("motion", [fast_motion, sines])
def test_a_slower_motion_is_the_same_path(motion):
    reference, s = motion(), 1.7
    slow = slow_down(reference, s)
    assert slow.joint_names == reference.joint_names
    assert slow.start_time == reference.start_time
    assert slow.duration == pytest.approx(s * reference.duration, rel=1e-14)
    times = np.linspace(reference.start_time - 0.1, reference.end_time + 0.1, 37)
    wanted = reference.sample(times) * s ** -np.arange(5.0)[:, None]
    found = slow.sample(reference.start_time + s * (times - reference.start_time))
    scale = np.abs(wanted).max(axis=(0, 2))[:, None]
    np.testing.assert_array_less(np.abs(found - wanted), 1e-10 * np.broadcast_to(scale, (37, 5, 7)))
    out = np.empty((5, 7))
    slow.evaluate(slow.start_time + 0.4, out)
    np.testing.assert_array_equal(out, slow(slow.start_time + 0.4))
    np.testing.assert_allclose(
        slow.peak_values(), reference.peak_values() * s ** -np.arange(5.0)[:, None], rtol=1e-9
    )
    assert isinstance(slow, Trajectory if isinstance(reference, Trajectory) else SlowedReference)


# invalid input


def test_limits_that_no_slower_motion_keeps_are_named():
    def scaled(slowest=1e3, **limits):
        allowed = MotionLimits(panda().joint_names, **limits)
        return scale_time(fast_motion(), panda(), panda_joints(), allowed, slowest=slowest)

    weak = [150, 10, 150, 150, 40, 40, 40]
    assert_rejected(
        (lambda: scaled(motor_torque=weak), "standstill, motor_torque 'panda_joint2'"),
        (lambda: scaled(50.0, joint_speed=0.01), "50 times slower joint_speed"),
        error=TrajectoryError,
    )


@pytest.mark.parametrize(("count", "duration"), [(3000, 30.0), (2, 1e6)])
def test_a_motion_of_too_many_points_or_seconds_is_refused(monkeypatch, count, duration):
    """Times in microseconds filled the memory, and 100,000 points took more than ten minutes."""
    monkeypatch.setattr(time_scaling, "MOST", time_scaling.MOST // 10)  # as is tested in a second
    times = np.linspace(0.0, duration, count)
    long = interpolate(panda().joint_names, times, np.tile(READY, (count, 1)))
    with pytest.raises(InputError, match=rf"{count} points over .* s are too many for 7 joints"):
        scale_time(long, panda(), panda_joints(), MotionLimits(long.joint_names, joint_speed=1.0))


def test_points_far_apart_are_scaled_with_few_samples():
    """Times in milliseconds by mistake: 5 ms between samples took minutes."""
    times = 1e3 * np.arange(3.0)
    slow = interpolate(panda().joint_names, times, READY + np.array([[0.0], [1.0], [0.0]]))
    allowed = MotionLimits(panda().joint_names, joint_speed=1e-3)
    scaled = scale_time(slow, panda(), panda_joints(), allowed)
    assert len(scaled.history.times) < 2000
    fastest = np.abs(slow.sample(np.linspace(0.0, 2e3, 100_001))[:, 1]).max()
    assert scaled.factor == pytest.approx(fastest / 1e-3, rel=1e-6)


def test_a_motion_through_many_rounded_points_is_scaled_in_seconds(monkeypatch):
    """Nearly all trial factors are decided by the few samples that were the worst ones before."""
    evaluated = []
    values = time_scaling._SampledMotion.values

    def counted(self, s, at=...):
        found = values(self, s, at)
        evaluated.append(len(found) / len(self.times))
        return found

    monkeypatch.setattr(time_scaling._SampledMotion, "values", counted)
    limits = MotionLimits(panda().joint_names, joint_speed=0.05)
    result = scale_time(fast_motion(), panda(), panda_joints(), limits)
    assert len(evaluated) > 300
    assert sum(evaluated) < 100
    assert result.after[0].utilisation == pytest.approx(1.0, rel=1e-6)


def test_a_motion_that_starts_moving_cannot_be_slowed_down():
    running = fast_motion()
    middle = running(0.8)
    moving = interpolate(running.joint_names, [0.8, 1.5], [middle[0], READY], start=middle)
    assert_rejected(
        (lambda: slow_down(moving, 1.1), "does not start at rest"),
        *[(lambda s=s: slow_down(running, s), "factor") for s in (0.9, 0.0, np.nan, np.inf)],
        error=TrajectoryError,
    )
    assert slow_down(moving, 1.0) is moving


def test_limits_and_names_are_checked():
    names = panda().joint_names
    ends = [[-0.1, 0.2], [0.1, 0.1], *[[0.0, np.inf]] * 5]

    def scaled(names=names, **options):
        limits = MotionLimits(names)
        return lambda: scale_time(fast_motion(), panda(), panda_joints(), limits, **options)

    assert_rejected(
        (lambda: MotionLimits(names, motor_speed=[1, 1, -1, *[1] * 4]), "speed panda_joint3 -1.0"),
        (lambda: MotionLimits(names, deflection=[0.1, 0.2]), "deflection 7 limits"),
        (lambda: MotionLimits(names, deflection=ends), "deflection 'panda_joint2' [0.1 0.1]"),
        (scaled(names[::-1]), "limits: expected panda_joint7"),
        (scaled(slowest=0.5), "slowest 0.5"),
        (scaled(tolerance=0.0), "tolerance"),
    )
    with pytest.raises(ValueError, match="read-only"):
        MotionLimits(names, deflection=0.1).deflection[0] = 1.0
