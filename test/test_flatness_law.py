"""The controller behind the node: signals and a desired motion in, motor torques out."""

from __future__ import annotations

import numpy as np
import pytest

from elastic_arms import (
    Arm,
    HeldPlant,
    antagonistic_arm,
    at_start,
    linear_arm,
    pretensioned_arm,
    variable_arm,
)
from multibody_dynamics.dynamics.limits import JointCommandLimits
from multibody_dynamics.dynamics.mass_matrix import gravity_forces
from multibody_dynamics.nodes.flatness_controller_parameters import (
    LAWS,
    FlatnessControllerParameters,
)
from multibody_dynamics.nodes.flatness_law import ON_LINKS, FlatnessLaw, settings_of

PERIOD = 2e-3


def make(arm: Arm, **changes) -> FlatnessLaw:
    """Designed, and resting where the arm does under `p.law`."""
    p = FlatnessControllerParameters(**changes)
    law = FlatnessLaw(arm.model, arm.actuators, p)
    law.design(p, arm.rest)
    _, second, load = at_start(arm)
    law.stiffness[:] = second
    law.desired[0] = law.ahead[0] = arm.rest
    law.transfer.torque[:] = load
    law.start(p.law, 0.1)
    return law


def signals(law: FlatnessLaw, q: np.ndarray, theta: np.ndarray) -> dict[str, np.ndarray]:
    rows = {"link_position": q, "motor_position": theta}
    return {name: rows[name] for name in law.estimator.signals}


@pytest.mark.parametrize("arm", [linear_arm, antagonistic_arm, variable_arm, pretensioned_arm])
def test_at_rest_every_law_gives_the_torque_that_holds(arm):
    """But for computed torque, which has links where motors are. So does the stop on links; there
    is none of an arm with a stiffness drive."""
    arm = arm()
    law = make(arm)
    (q, _, theta, _), _, load = at_start(arm)
    has_drive = any(name.endswith("_stiffness") for name in arm.actuators.motor_names)
    assert (law.on_links is None) == has_drive
    names = [*LAWS, *([] if has_drive else [ON_LINKS])]
    names.remove("computed_torque")
    for k, name in enumerate(names):
        law.start(name, 0.0)
        law.measure(k * PERIOD, signals(law, q, theta))
        law.update(PERIOD, 0.5 * PERIOD)
        np.testing.assert_allclose(law.transfer.torque, load, atol=1e-6, err_msg=name)
        assert law.name == name
        assert law.is_finite()
    np.testing.assert_allclose(law.holding_torque(), load, atol=1e-9)
    np.testing.assert_allclose(law.rest(q), load, atol=1e-9)
    np.testing.assert_allclose(law.gravity, gravity_forces(arm.model, q), atol=1e-12)
    if not has_drive:
        np.testing.assert_allclose(law.motors_at_rest(q), theta, atol=1e-9)


@pytest.mark.parametrize("source", ["motor_encoders_and_torque_sensors", "motor_encoders"])
def test_links_that_are_not_measured_are_not_stopped_by(source):
    assert make(linear_arm(), state_source=source).on_links is None


def test_a_robot_that_carries_itself_is_asked_for_the_rest_only():
    arm = linear_arm()
    law = make(arm, gravity_compensated_by_robot=True)
    (q, _, theta, _), _, _ = at_start(arm)
    law.measure(0.0, signals(law, q, theta))
    law.update(PERIOD, 0.0)
    np.testing.assert_allclose(law.commanded(), 0.0, atol=1e-6)


def closed_loop(law: FlatnessLaw, arm: Arm, seconds: float, push: np.ndarray) -> np.ndarray:
    """Link positions of an arm that rests at first, then has `push` (n,) on its joints."""
    plant = HeldPlant(arm)
    (q, qd, theta, thetad), _, _ = at_start(arm)
    plant.reset(np.concatenate((q, qd, theta, thetad)))
    world = np.zeros((arm.model.n, 6))
    world[-1, 1] = push[-1]  # a moment about the axes, which are parallel to y
    plant.robot.applied_wrenches[:] = world
    found = []
    for k in range(round(seconds / PERIOD)):
        q, _, theta, _ = plant.state
        law.measure(k * PERIOD, signals(law, q, theta))
        if law.observer is not None:
            law.external_torque[:] = law.observer.residual
        law.update(PERIOD, 0.5 * PERIOD)
        plant.step(law.commanded(), PERIOD)
        found.append(plant.state[0].copy())
    return np.array(found)


def test_what_the_observer_finds_is_countered():
    arm, push = linear_arm(), np.array([0.0, 2.0])
    without = closed_loop(make(arm), arm, 1.0, push)[-1] - arm.rest
    law = make(arm, observer_gain=20.0, observer_feedback=True)
    countered = closed_loop(law, arm, 1.0, push)[-1] - arm.rest
    assert law.observer is not None
    assert np.abs(law.observer.residual).max() == pytest.approx(2.0, rel=0.02)
    assert np.abs(without).max() > 3e-3
    assert np.abs(countered).max() < 0.15 * np.abs(without).max()


def test_a_law_takes_over_without_a_jump_and_a_restart_forgets():
    arm = linear_arm()
    law = make(arm, law="motor_pd")
    (q, _, theta, _), _, _ = at_start(arm)
    torques = []
    for k in range(80):
        if k == 10:
            law.switch("state_feedback", 0.1)
        law.measure(k * PERIOD, signals(law, q + 0.01, theta + 0.01))
        law.update(PERIOD, 0.0)
        torques.append(law.transfer.torque.copy())
    wide = np.abs(torques[-1] - torques[9]).max()
    assert np.abs(np.diff(torques[10:], axis=0)).max() < 0.1 * wide
    assert law.estimator.is_settled
    law.restart()
    assert not law.estimator.is_settled


def test_a_stop_gives_way_at_the_limit_of_what_is_sent():
    arm = linear_arm()
    law = make(arm)
    law.limit(JointCommandLimits(arm.actuators.motor_names, torque=[3.0, 4.0]))
    law.design(FlatnessControllerParameters(), arm.rest)  # another time, at rest elsewhere
    law.start("hold", 0.0)
    (q, _, theta, _), _, _ = at_start(arm)
    for k in range(20):
        law.measure(k * PERIOD, signals(law, q, theta + 0.5))
        law.update(PERIOD, 0.0)
        assert abs(law.transfer.torque[0]) == 3.0
        assert law.transfer.events == ()  # the law itself asks for no more


def test_parameters_become_the_settings_of_each_law():
    p = FlatnessControllerParameters(
        motor_bandwidth=(10.0, 20.0),
        feedback_poles=(-1.0, -2.0, -3.0, -4.0),
        linearization_bandwidth=(50.0,),
        state_source="motor_encoders",
        friction_compensation=0.5,
        stop_time=0.3,
        variant="quasi_static",
        integral=2.0,
    )
    found = {name: settings_of(name, p) for name in LAWS}
    np.testing.assert_array_equal(found["motor_pd"].bandwidth, [10.0, 20.0])
    assert found["motor_pd"].integrates == "motor"
    assert found["state_feedback"].poles == p.feedback_poles
    assert found["state_feedback"].variant == "quasi_static"
    assert found["state_feedback"].integral == 2.0
    assert found["feedback_linearization"].bandwidth == 50.0
    assert found["feedback_linearization"].poles is None
    assert found["hold"].stop_time == 0.3
    assert found["hold"].friction is None
    assert found["computed_torque"].friction == 0.5


@pytest.mark.parametrize("bad", ["refused", "raising", "restarting", "wild"])
def test_hold_acts_on_the_motors_and_not_on_an_observer_that_fails(bad):
    """An arm that moves, with an observer that is fed bad samples from the start of the stop on."""
    arm = linear_arm()
    law = make(arm, state_source="motor_encoders", law="hold")
    plant = HeldPlant(arm)
    (q, _, theta, _), _, load = at_start(arm)
    speed = np.full(arm.model.n, 1.0)
    plant.reset(np.concatenate((q, speed, theta, speed)))
    told, lost = load, 0
    for k in range(600):
        theta = plant.state[2].copy()
        if bad == "raising" and k > 2:
            told = np.full_like(load, np.nan)
        elif bad == "restarting" and k > 2:
            told = np.full_like(load, 1e200 * (-1) ** k)
        elif bad == "refused" and k > 2:
            law.estimator.state.theta[:] = 9.0
        elif bad == "wild" and k % 10 == 5:
            theta += 2.0
        law.measure(k * PERIOD, {"motor_position": theta, "motor_torque": told})
        lost += bool(law.lost)
        law.update(PERIOD, 0.0)
        assert law.is_finite()
        plant.step(law.commanded(), PERIOD)
        told = law.commanded().copy()
    assert lost > 50
    assert not law.is_settled
    assert np.abs(plant.state[1]).max() < 0.01
    assert np.abs(plant.state[0] - arm.rest).max() < 0.5
