# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The flat map and its inverse, verified on plants whose springs are written out here."""

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from flat_motions import (
    MOTOR,
    QUADRATIC,
    at,
    linear_springs,
    mixed,
    motion,
    second_outputs,
)
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.core import Array
from multibody_dynamics.dynamics.elastic import (
    Actuators,
    Antagonistic,
    CubicSpring,
    LinearSpring,
    Motor,
    MotorMotion,
    SeriesElastic,
    VariableStiffness,
    filtered_deflection,
    limit_margins,
    motor_motion,
)
from rejections import assert_rejected
from robots import two_link_planar


def arm() -> dyn.MultibodyModel:
    return two_link_planar(0.4, 0.3)


Law = Callable[[Array, Array, Array, Array, float], tuple[Array, Array]]


def tracking_error(
    model: dyn.MultibodyModel,
    actuators: Actuators,
    law: Law,
    second: Callable[[float], Array | None] = lambda t: None,
    duration: float = 1.0,
) -> float:
    """Largest |q - q_d| in rad of the plant under feedforward alone, from a consistent start.

    law: (Q (n,), load (m,)) from q, q', theta, theta' and the time, in closed form. The
    filter states phi of damped springs are integrated too.
    """
    n, m = model.n, len(actuators.motors)
    first = actuators.first_motor

    def command(t: float, phi: Array) -> tuple[MotorMotion, Array]:
        """The required motion of the motors, and phi'."""
        state, torque = at(model, t)
        motors = motor_motion(actuators, state, torque, second(t), deflection=phi)
        return motors, np.where(actuators.is_damped, motors.velocity[first] - state[1], 0.0)

    def slope(t: float, x: Array) -> Array:
        q, qd, theta, thetad, phi = np.split(x, [n, 2 * n, 2 * n + m, 2 * n + 2 * m])
        wanted, phid = command(t, phi)
        Q, load = law(q, qd, theta, thetad, t)
        qdd = dyn.forward_dynamics(model, q, qd, Q)
        thetadd = (wanted.torque - load - actuators.friction(thetad)) / actuators.motor_inertia
        return np.concatenate((qd, qdd, thetad, thetadd, phid))

    state, torque = at(model, 0.0)
    phi = actuators.settled_deflection(torque)
    start, _ = command(0.0, phi)
    result = solve_ivp(
        slope,
        (0.0, duration),
        np.concatenate((state[0], state[1], start.position, start.velocity, phi)),
        method="DOP853",
        rtol=1e-11,
        atol=1e-12,
        t_eval=np.linspace(0.0, duration, 41),
    )
    assert result.success
    wanted = np.array([motion(n, t)[0] for t in result.t])
    return float(np.abs(result.y[:n].T - wanted).max())


def linear(K: Array, d: Array | float = 0.0) -> Law:
    def law(q: Array, qd: Array, theta: Array, thetad: Array, t: float) -> tuple[Array, Array]:
        Q = K * (theta - q) + d * (thetad - qd)
        return Q, Q

    return law


@pytest.mark.parametrize("d", [np.zeros(2), np.array([3.0, 1.0])], ids=("undamped", "damped"))
def test_linear_springs_track_exactly(d):
    K = np.array([400.0, 250.0])
    kinds = [SeriesElastic(MOTOR, LinearSpring(k), each) for k, each in zip(K, d, strict=True)]
    assert tracking_error(arm(), Actuators(arm().joint_names, kinds), linear(K, d)) < 1e-8


K = np.array([900.0, np.inf, 150.0])
COLUMNS = {
    "inertia": (0.4, 0.3, 0.05),
    "viscous": (1.1, 0.7, 0.2),
    "coulomb": (0.9, 0.6, 0.1),
    "coulomb_velocity": (0.05, 0.04, 0.03),
}


def linear_joints(stiffness: Array = K, **changes: Sequence[float]) -> Actuators:
    """Linear springs, by default of two joints, with a rigid one in the middle."""
    names = ("shoulder", "elbow", "wrist")
    return linear_springs(names, **{"stiffness": stiffness, **COLUMNS, **changes})


def random_rows(seed: int, *batch: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(*batch, 5, 3)), 30.0 * rng.normal(size=(*batch, 3, 3))


def test_linear_springs_in_closed_form():
    """[M21] (2), (3) with friction."""
    actuators = linear_joints()
    state, torque = random_rows(3, 4)
    found = motor_motion(actuators, state, torque)
    theta = state[:, :3] + torque / K
    np.testing.assert_allclose(np.stack(found[:3], axis=1), theta, rtol=1e-13, atol=1e-13)
    M, d, c, v = np.array(list(COLUMNS.values()))
    friction = d * theta[:, 1] + c * np.tanh(theta[:, 1] / v)
    np.testing.assert_allclose(found.torque, M * theta[:, 2] + torque[:, 0] + friction, rtol=1e-12)
    np.testing.assert_array_equal(np.stack(found[:3], axis=1)[..., 1], state[:, :3, 1])


def test_a_batch_is_its_elements():
    _, actuators = mixed()
    rng = np.random.default_rng(1)
    state, torque = rng.normal(size=(2, 3, 5, 7)), 10.0 * rng.normal(size=(3, 3, 7))
    second = second_outputs(3, 0.3, 800.0, 100.0)
    phi = 0.05 * rng.normal(size=(2, 1, 7))
    before = state.copy(), torque.copy(), phi.copy()
    batch = motor_motion(actuators, state, torque, second, deflection=phi)
    assert all(row.shape == (2, 3, 9) for row in batch)
    for i, j in np.ndindex(2, 3):
        single = motor_motion(actuators, state[i, j], torque[j], second, deflection=phi[i, 0])
        for row, right in zip(batch, single, strict=True):
            np.testing.assert_allclose(row[i, j], right, rtol=1e-12, atol=1e-12)
    for array, copy in zip((state, torque, phi), before, strict=True):
        np.testing.assert_array_equal(array, copy)
    rows = tuple(np.moveaxis(torque, 1, 0))  # as inverse_dynamics returns them
    np.testing.assert_array_equal(
        motor_motion(actuators, state, rows, second, deflection=phi), np.stack(batch)
    )


def test_the_filtered_deflection_makes_the_velocity_the_derivative_of_the_position():
    model = arm()
    actuators = Actuators(
        model.joint_names,
        [
            SeriesElastic(MOTOR, LinearSpring(300.0), 5.0),
            SeriesElastic(MOTOR, CubicSpring(200.0, 4e3), 2.0),
        ],
    )
    h = 1e-3
    times = h * np.arange(200)
    state = np.array([motion(2, t) for t in times])
    torque = np.stack(dyn.inverse_dynamics(model, *np.moveaxis(state, 1, 0)), axis=1)
    phi = filtered_deflection(actuators, times, torque)
    motors = motor_motion(actuators, state, torque, deflection=phi)
    for rows, rates in ((motors.position, motors.velocity), (motors.velocity, motors.acceleration)):
        slope = (rows[2:] - rows[:-2]) / (2 * h)
        np.testing.assert_allclose(slope, rates[1:-1], rtol=0, atol=2e-4 * np.abs(rates).max())
    other = filtered_deflection(actuators, times, torque, initial=phi[0] + 0.1)
    fading = np.abs(other - phi)
    assert (fading[-1] < 1e-4).all()
    assert (np.diff(fading, axis=0) < 0.0).all()


def test_margins_give_the_distance_to_each_limit_and_its_place():
    motor = Motor(0.2, torque_limit=30.0, speed_limit=4.0)
    law = CubicSpring(100.0, 1e3, travel=(-0.1, 0.3))
    actuators = Actuators(
        ("a", "b", "c"),
        [
            SeriesElastic(motor, law),
            VariableStiffness(Motor(0.2), (50.0, 400.0)),
            Antagonistic(motor, motor, QUADRATIC, QUADRATIC),
        ],
    )
    times = np.linspace(2.0, 3.0, 201)
    state = np.array([motion(3, t) for t in times])
    torque = np.zeros((201, 3, 3))
    torque[:, 0] = 30.0 * np.sin(5 * times)[:, None]
    torque[:, 1] = 150.0 * np.cos(5 * times)[:, None]
    torque[:, 2] = -750.0 * np.sin(5 * times)[:, None]
    second = np.array([second_outputs(2, t, 395.0, 30.0) for t in times])
    moved = motor_motion(actuators, state, torque, second, beyond="continue")
    margins = limit_margins(
        actuators, times, torque, moved, second, joint_torque_limit=[40.0, 40.0, 25.0]
    )
    by_name = {(each.name, each.quantity): each for each in margins}
    assert len(by_name) == len(margins) == 14
    assert [m.used for m in margins] == sorted((m.used for m in margins), reverse=True)

    for i, name in enumerate(("a", "b", "c_agonist", "c_antagonist")):
        if name == "b":
            assert ("b", "motor torque") not in by_name
            continue
        effort = by_name[name, "motor torque"]
        k = np.abs(moved.torque[:, i]).argmax()
        assert (effort.time, effort.value) == (times[k], moved.torque[k, i])
        assert effort.left == pytest.approx(30.0 - abs(effort.value), abs=1e-12)
        assert effort.used == pytest.approx(abs(effort.value) / 30.0, abs=1e-12)
    bent = by_name["a", "deflection"]
    assert bent.limit == -0.1
    assert bent.value == moved.deflection[:, 0].min()
    assert bent.left < 0.0
    assert bent.used == pytest.approx(abs(bent.value - 0.1) / 0.2)
    assert by_name["c", "joint torque"].left == pytest.approx(25.0 - np.abs(torque[:, 0]).max())
    stiff = by_name["b", "stiffness"]
    assert stiff.value == second[:, 0, 0].max()
    assert stiff.left == pytest.approx(400.0 - stiff.value)
    assert "b: stiffness" in str(stiff)
    assert_rejected((lambda: motor_motion(actuators, state, torque, second), "'a' torque travel"))


def test_missing_and_misshapen_arguments_are_named():
    _, actuators = mixed()
    state, Q = np.zeros((5, 7)), np.zeros((3, 7))
    second, bad, soft = np.full((3, 3), 800.0), state.copy(), np.full((3, 3), 800.0)
    bad[1, 2], soft[0, 0] = np.nan, 20.0
    moved = motor_motion(
        actuators, np.zeros((4, 5, 7)), Q, second, deflection=state[0], beyond="continue"
    )

    def call(state=state, torque=Q, second=second, **options):
        return lambda: motor_motion(actuators, state, torque, second, **options)

    assert_rejected(
        (call(second=None), "stiffness missing joint4 joint5 joint6"),
        (call(second=second[:, :2]), "stiffness shape (..., 3, 3)"),
        (call(), "'joint3' deflection damped"),
        (call(torque=(Q[0], Q[1], None)), "torque Q' Q'' missing"),
        (call(torque=Q[0]), "torque (..., 3, 7) (7,)"),
        (call(torque=(Q[0], Q[1, :6], Q[2])), "torque Q, Q', Q'' (7,) (6,)"),
        (call(state[:2]), "state rows"),
        (call(bad), "state joint3"),
        (call(second=soft, deflection=state[0]), "'joint4' stiffness N m/rad 20"),
        (lambda: filtered_deflection(actuators, [0, 0], np.zeros((2, 3, 7))), "times increasing"),
        (lambda: filtered_deflection(actuators, [], np.zeros((0, 3, 7))), "times increasing"),
        (lambda: limit_margins(actuators, np.arange(3.0), Q, moved, second), "motion 3 states (4"),
    )
