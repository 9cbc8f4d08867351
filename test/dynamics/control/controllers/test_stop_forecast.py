# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The forecast of a stop, against simulated stops and the poles of sampled systems."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm

from elastic_arms import MOTOR, SMALL, Arm, elastic_panda, linear_arm, series, two_links
from multibody_dynamics.dynamics.control import LateHoldController, forecast_stop
from multibody_dynamics.dynamics.control.controllers.late_hold import BANDWIDTH, LEAD, RATE
from multibody_dynamics.dynamics.control.controllers.stop_forecast import DELAYS, GROWTH, _Loop
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import Actuators
from multibody_dynamics.dynamics.rigid import mass_matrix


def with_friction(arm: Arm, share: float) -> Arm:
    """The same arm with a share of its viscous friction, and without Coulomb friction."""
    actuators = tuple(
        replace(each, motor=replace(each.motor, viscous=share * each.motor.viscous, coulomb=0.0))
        for each in arm.actuators.actuators
    )
    return arm._replace(actuators=Actuators(arm.actuators.joint_names, actuators))


def loop_of(arm: Arm) -> _Loop:
    return _Loop(LateHoldController(arm.model, arm.actuators, arm.rest), arm.rest)


@pytest.mark.parametrize("delay", [0.01, 0.04])
def test_poles_with_a_delay_solve_the_characteristic_equation(delay):
    """det(s - A - B F exp(-s T)) = 0 for the slow poles, which the collocation must reproduce."""
    loop = loop_of(linear_arm())
    poles = loop.poles(delay)
    slow = poles[np.abs(poles) < 60.0]
    assert len(slow) > 6
    for s in slow:
        whole = s * np.eye(len(loop.A)) - loop.A - loop.B @ loop.F * np.exp(-s * delay)
        singular = np.linalg.svd(whole, compute_uv=False)
        assert singular[-1] < 1e-6 * singular[0]


def test_the_judged_stability_is_that_of_the_system_sampled_with_a_line_of_delayed_torques():
    arm = with_friction(elastic_panda(), 0.1)
    loop, period = loop_of(arm), 2e-3
    k, m = loop.B.shape
    whole = expm(period * np.block([[loop.A, loop.B], [np.zeros((m, k + m))]]))
    for cycles in (5, 20, 60):
        step = np.zeros((k + cycles * m, k + cycles * m))
        step[:k, :k], step[:k, -m:] = whole[:k, :k], whole[:k, k:]
        step[k : k + m, :k] = loop.F
        step[k + m :, k:-m] = np.eye((cycles - 1) * m)
        sampled = np.log(np.abs(np.linalg.eigvals(step)).max()) / period
        # a torque held for a cycle acts half a cycle later on average
        found = loop.poles((cycles - 0.5) * period).real.max()
        assert found == pytest.approx(sampled, abs=0.02 + 0.05 * abs(sampled))


def test_friction_determines_the_delay_and_the_needed_friction_suffices():
    arm = elastic_panda()
    good = forecast_stop(*arm)
    viscous = np.array([motor.viscous for motor in arm.actuators.motors])
    np.testing.assert_allclose(good.needed_viscous, viscous)
    assert good.delay > 0.05
    bare = with_friction(arm, 0.0)
    poor = forecast_stop(*bare)
    assert poor.delay < 0.02
    assert poor.weakest in arm.model.joint_names
    assert (poor.needed_viscous > 0.0).all()
    stop = LateHoldController(bare.model, bare.actuators, bare.rest)
    enough = _Loop(stop, bare.rest, 1.01 * poor.needed_viscous)
    assert all(enough.is_stable(delay) for delay in DELAYS if delay <= 0.02)
    less = _Loop(stop, bare.rest, 0.5 * poor.needed_viscous)
    assert max(less.poles(delay).real.max() for delay in (0.0, 0.01, 0.02)) > GROWTH


def test_time_and_distance_are_those_of_an_integrated_motor():
    arm = with_friction(linear_arm(), 1.0)
    found = forecast_stop(*arm, poses=0)
    stop = LateHoldController(arm.model, arm.actuators, arm.rest)
    links = np.diag(mass_matrix(arm.model, arm.rest))
    for j, motor in enumerate(arm.actuators.motors):
        p, d = stop.gains.values[2:, j]
        moved, top = motor.inertia + links[j], found.top_speed[j]

        def motion(t, z, motor=motor, p=p, d=d, moved=moved, top=top):
            x, v, first, second = z
            smooth = BANDWIDTH * (first - second)
            reference = top * np.exp(-RATE * t)
            predicted = second + (2.0 / BANDWIDTH + LEAD) * smooth
            torque = p * ((top - reference) / RATE - predicted) + d * (reference - smooth)
            force = torque - motor.viscous * v
            return v, force / moved, BANDWIDTH * (x - first), BANDWIDTH * (first - second)

        start = (0.0, top, -top / BANDWIDTH, -2.0 * top / BANDWIDTH)
        t = np.linspace(0.0, 20.0, 4001)
        x, v = solve_ivp(motion, (0.0, 20.0), start, t_eval=t, rtol=1e-9, atol=1e-10).y[:2]
        assert found.time[j] == pytest.approx(t[np.flatnonzero(np.abs(v) > 0.1)[-1]], abs=0.05)
        assert found.distance[j] == pytest.approx(np.abs(x).max(), rel=0.02)


def test_a_torque_limit_that_cannot_brake_in_time_shows():
    weak = replace(MOTOR, torque_limit=0.02, viscous=0.0, coulomb=0.0)
    model, _, rest = linear_arm()
    arm = two_links(series(400.0, weak), series(200.0, SMALL))
    found = forecast_stop(model, arm.actuators, rest)
    assert found.time[0] == np.inf
    assert found.needed_viscous[0] > 0.0
    assert np.isfinite(found.time[1])


def test_a_position_of_a_wrong_shape_is_rejected():
    with pytest.raises(InputError, match="q"):
        forecast_stop(*linear_arm()[:2], np.zeros(3))
