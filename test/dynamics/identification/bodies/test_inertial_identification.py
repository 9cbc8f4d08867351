"""Parameters recovered from torques that they generated; inertias that are always possible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.identification.bodies.inertial_identification import (
    consistent_derivative,
)
from robots import panda

NUMBERS = st.lists(st.floats(-1.5, 1.5), min_size=10, max_size=10).map(np.array)


def motion(n, count=400, seed=0):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (3, count, n)) * np.array([2.0, 1.0, 3.0])[:, None, None]


@settings(max_examples=25)
@given(NUMBERS)
def test_log_cholesky_parameters_convert_to_bodies_and_back(theta):
    parameters = dyn.identification.consistent_parameters(theta)
    eigenvalues = np.linalg.eigvalsh(dyn.identification.pseudo_inertia(parameters))
    assert eigenvalues[0] > -1e-12 * eigenvalues[-1]
    assert np.allclose(
        dyn.identification.consistent_parameters(dyn.identification.log_cholesky(parameters)),
        parameters,
        atol=1e-9,
    )


@settings(max_examples=10)
@given(NUMBERS)
def test_the_derivative_of_consistent_parameters_by_differences(theta):
    h = 1e-6
    for k, column in enumerate(consistent_derivative(theta).T):
        step = h * np.eye(10)[k]
        after, before = dyn.identification.consistent_parameters(
            np.stack([theta + step, theta - step])
        )
        assert np.allclose(
            (after - before) / (2 * h), column, atol=1e-6 * (1 + np.abs(column).max())
        )


def test_impossible_parameters_are_rejected_or_made_consistent():
    odd = np.array([1.0, 0, 0, 0, 1.0, 0, 0, 0.1, 0, 0.1])  # 1 > 0.1 + 0.1
    with pytest.raises(dyn.InputError, match="not physically consistent"):
        dyn.identification.log_cholesky(odd)
    near = dyn.identification.nearest_consistent(odd)
    assert dyn.identification.is_physically_consistent(near)
    assert near[0] == odd[0]
    assert dyn.identification.is_physically_consistent(
        dyn.identification.nearest_consistent(np.zeros(10))
    )
    body = dyn.identification.consistent_parameters(np.full(10, 0.3))
    assert np.allclose(dyn.identification.nearest_consistent(body), body)


def test_friction_is_found_with_standard_errors():
    model, rng = panda(), np.random.default_rng(1)
    q, qd, qdd = motion(model.n)
    viscous, coulomb, offset = rng.uniform(0.1, 1.0, (3, model.n))
    friction = dyn.identification.JointFriction.smooth_coulomb(viscous, coulomb, offset)
    noise = rng.normal(scale=0.05, size=q.shape)
    torque = dyn.inverse_dynamics(model, q, qd, qdd).tau + friction.torque(qd) + noise
    found = dyn.identification.identify_parameters(model, q, qd, qdd, torque)
    for name, row, true in (
        ("viscous", found.friction.viscous, viscous),
        ("coulomb", found.friction.amplitude / 2, coulomb),
        ("offset", found.friction.offset, offset),
    ):
        errors = np.array([found.estimates[f"{joint}.{name}"].error for joint in model.joint_names])
        assert (np.abs(row - true) < 4 * errors).all()
        assert (errors < 0.02).all()
    assert found.model is model
    assert np.allclose(found.rms[1], 0.05, rtol=0.15)


def test_a_payload_is_found():
    model = panda()
    loaded = model.with_payload(
        model.body_names[-1], 1.3, [0.02, -0.03, 0.1], np.diag([3e-3, 4e-3, 2e-3])
    )
    q, qd, qdd = motion(model.n)
    torque = dyn.inverse_dynamics(loaded, q, qd, qdd).tau
    found = dyn.identification.identify_parameters(model, q, qd, qdd, torque, kinds=["payload"])
    true = dyn.identification.inertial_parameters(loaded) - dyn.identification.inertial_parameters(
        model
    )
    assert np.allclose(found.payload, true[-10:], atol=2e-4)
    assert dyn.identification.is_physically_consistent(found.payload)
    assert (found.rms[1] < 1e-3 * found.rms[0].max()).all()


def test_identified_inertias_are_physically_consistent():
    model = panda()
    start = dyn.identification.nearest_consistent(
        dyn.identification.inertial_parameters(model).reshape(-1, 10)
    )
    begin = dyn.identification.with_inertial_parameters(model, start.ravel())
    rng = np.random.default_rng(2)
    true = dyn.identification.consistent_parameters(
        dyn.identification.log_cholesky(start) + rng.normal(scale=0.1, size=start.shape)
    )
    real = dyn.identification.with_inertial_parameters(model, true.ravel())
    friction = dyn.identification.JointFriction.smooth_coulomb(*rng.uniform(0.1, 1.0, (3, model.n)))
    q, qd, qdd = motion(model.n)
    torque = dyn.inverse_dynamics(real, q, qd, qdd).tau + friction.torque(qd)
    found = dyn.identification.identify_parameters(
        begin, q, qd, qdd, torque, kinds=["inertia", "friction"]
    )
    assert dyn.identification.is_physically_consistent(found.parameters.reshape(-1, 10)).all()
    other = motion(model.n, 100, seed=5)
    expected = dyn.inverse_dynamics(real, *other).tau
    assert np.abs(dyn.inverse_dynamics(found.model, *other).tau - expected).max() < 0.02
    assert np.allclose(found.friction.viscous, friction.viscous, atol=1e-2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kinds": ["gravity"]}, "kinds"),
        ({"kinds": []}, "kinds"),
        ({"kinds": ["payload", "inertia"]}, "cannot distinguish"),
        ({"kinds": ["payload"], "payload_body": "hand"}, "hand"),
    ],
)
def test_invalid_choices_of_parameters(options, message):
    model = panda()
    with pytest.raises(dyn.InputError, match=message):
        dyn.identification.identify_parameters(
            model, *motion(model.n, 50), np.zeros((50, model.n)), **options
        )


def test_too_few_samples():
    model = panda()
    with pytest.raises(dyn.InputError, match="too few"):
        dyn.identification.identify_parameters(model, *motion(model.n, 3), np.zeros((3, model.n)))
    with pytest.raises(dyn.InputError, match="arrays"):
        dyn.identification.identify_parameters(model, *motion(model.n, 30), np.zeros((31, model.n)))
