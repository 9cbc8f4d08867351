# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Large batches by vector code equal the general functions, and are used where they pay."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import rigid
from multibody_dynamics.dynamics.core import IS_COMPILED
from multibody_dynamics.dynamics.identification.bodies import regressor
from multibody_dynamics.dynamics.rigid import vector_batches
from multibody_dynamics.dynamics.rigid.vector_batches import (
    geometry_key,
    structure_key,
    vector_batch,
)
from reference import error
from rejections import assert_rejected
from robots import random_tree, singular_arm

pytestmark = pytest.mark.skipif(
    not IS_COMPILED, reason="machine code needs Numba, which is optional"
)
COUNT = 40  # states of a batch that counts as large here


@pytest.fixture
def model():
    return random_tree(4, 3, kinds=("revolute", "prismatic", "helical"))


@pytest.fixture
def used(monkeypatch):
    """The names of the programs that were used; batches of COUNT states are large."""
    names = []

    def recorded(robot, name, *rest, large=0, **options):
        found = vector_batch(robot, name, *rest, large=COUNT, **options)
        names.extend([name] if found else [])
        return found

    for module in (rigid.rnea, rigid.kinematics, rigid.crba, rigid.aba,
                   rigid.derivatives, regressor):  # fmt: skip
        monkeypatch.setattr(module, "vector_batch", recorded)
    return names


def states(model, count=COUNT):
    return np.random.default_rng(3).uniform(-2, 2, (5, 2, count // 2, model.n))


def flat(result):
    """The arrays of a result."""
    return [result] if isinstance(result, np.ndarray) else [x for x in result if x is not None]


FUNCTIONS = {
    "inverse_dynamics-0": lambda m, s: dyn.inverse_dynamics(m, *s[:3]),
    "inverse_dynamics-2": lambda m, s: dyn.inverse_dynamics(m, *s, representation="hybrid"),
    "forward_kinematics-0-spatial": lambda m, s: dyn.forward_kinematics(m, s[0]),
    "forward_kinematics-4-mixed": lambda m, s: dyn.forward_kinematics(
        m, *s, representation="mixed"
    ),
    "mass_matrix": lambda m, s: dyn.mass_matrix(m, s[0]),
    "forward_dynamics": lambda m, s: dyn.forward_dynamics(m, *s[:3]),
    "inverse_dynamics_derivatives": lambda m, s: dyn.inverse_dynamics_derivatives(m, *s[:3]),
    "forward_dynamics_derivatives": lambda m, s: dyn.forward_dynamics_derivatives(m, *s[:3]),
    "regressor-0": lambda m, s: dyn.identification.inverse_dynamics_regressor(m, *s[:3]),
    "regressor-1": lambda m, s: dyn.identification.inverse_dynamics_regressor(m, *s[:4]),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_large_batches_equal_small_ones(model, used, name):
    function, batch = FUNCTIONS[name], states(model)
    large = flat(function(model, batch))
    assert used == [name]
    halves = zip(*(flat(function(model, batch[:, k])) for k in range(2)), strict=True)
    assert used == [name]  # the halves are small
    for found, parts in zip(large, halves, strict=True):
        expected = np.stack(parts)
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() < 1e-10 * np.abs(expected).max()


def test_arguments_broadcast_and_are_converted(model, used):
    q, qd, qdd = states(model)[:3]
    expected = dyn.inverse_dynamics(model, q, qd[0, 0], qdd.astype(np.float32)).tau
    assert used == ["inverse_dynamics-0"]
    alone = dyn.inverse_dynamics(model, q[1, 3], qd[0, 0], qdd[1, 3].astype(np.float32)).tau
    assert error(expected[1, 3], alone) < 1e-12


def test_the_general_functions_compute_what_vector_code_does_not(model, used):
    q, qd, qdd = states(model)[:3]
    wrench = {"body1": np.ones(6)}
    base = dyn.BaseMotion(twist=np.ones(6))
    dyn.inverse_dynamics(model, q, qd, qdd, wrenches=wrench)
    dyn.inverse_dynamics(model, q, qd, qdd, base=base)
    dyn.forward_dynamics(model, q, qd, qdd, wrenches=wrench)
    dyn.forward_kinematics(model, q, base=base)
    dyn.inverse_dynamics_derivatives(model, q, qd, qdd, base=base)
    assert used == []


def test_wrong_arguments_are_named_as_usual(model, used):
    q, qd, qdd, _, qdddd = states(model)
    with pytest.raises(dyn.InputError, match=r"qdddd .* qddd|qddd"):
        dyn.inverse_dynamics(model, q, qd, qdd, None, qdddd)
    with pytest.raises(dyn.InputError, match=r"^qd\b"):
        dyn.inverse_dynamics(model, q, qd[..., :2], qdd)
    assert_rejected(
        (lambda: dyn.inverse_dynamics(model, q, qd[:, :3], qdd), "broadcast"),
        (lambda: dyn.inverse_dynamics(model, q, qd, qdd, representation="world"), "representation"),
    )
    with pytest.raises(dyn.InputError):
        dyn.inverse_dynamics(model, q + 0j, qd, qdd)
    for value in (np.nan, np.inf):
        wrong = qdd.copy()
        wrong[1, 7, 2] = value
        with pytest.raises(dyn.InputError, match=r"^qdd\b"):
            dyn.inverse_dynamics(model, q, qd, wrong)
    assert used == []


@pytest.mark.parametrize("function", [dyn.forward_dynamics, dyn.forward_dynamics_derivatives])
def test_a_singular_mass_matrix_is_reported(used, function):
    arm, q, zero = singular_arm(), np.zeros((COUNT, 2)), np.zeros((COUNT, 2))
    function(arm, q, zero, zero)
    assert used
    q[17] = 0.0, -1.0
    assert_rejected((lambda: function(arm, q, zero, zero), "singular -1"), error=dyn.DynamicsError)


def test_small_batches_and_long_robots_stay_with_the_general_code(model, monkeypatch):
    rows = dict(zip(("q", "qd", "qdd"), states(model)[:3], strict=True))

    def never(**_):
        raise AssertionError

    assert vector_batch(model, "x", never, rows, [("n",)]) is None
    monkeypatch.setattr(vector_batches, "MOST_JOINTS", 3)
    assert vector_batch(model, "x", never, rows, [("n",)], large=1) is None


def test_too_many_operations_are_not_compiled(model, monkeypatch):
    monkeypatch.setattr(vector_batches, "MOST_OPERATIONS", 10)
    rows, traced = dict(zip(("q", "qd", "qdd"), states(model)[:3], strict=True)), []

    def trace(inputs):
        traced.append(1)
        return rigid.trace_inverse_dynamics(model, 0, inputs=inputs)

    for _ in range(2):
        assert vector_batch(model, "too large", trace, rows, [("n",)], large=1) is None
    assert traced == [1]


def test_keys_cover_what_is_constant(model):
    heavy = model.with_payload("body4", 1.0, (0.1, 0.2, 0.3), np.eye(3))
    rotors, turned = model.with_reflected_inertia(np.ones(4)), model.with_gravity((1, 2, 3))
    other, same = random_tree(4, 5), model.with_gravity(model.gravity)
    for key, alike in (
        (geometry_key, [same, heavy, rotors]),
        (structure_key, [same, heavy, turned]),
    ):
        for robot in (same, heavy, rotors, turned, other):
            equal = any(robot is each for each in alike)
            assert (key(robot) == key(model)) is equal, (key.__name__, robot.name)


def test_a_payload_needs_no_new_code(model, used, monkeypatch):
    batch = states(model)
    dyn.inverse_dynamics(model, *batch)
    heavy = model.with_payload("body4", 2.0, (0.1, 0.2, 0.3), np.eye(3)).with_gravity((1, -2, 3))

    def never(*_, **__):
        raise AssertionError("traced again")

    monkeypatch.setattr(rigid.rnea, "trace_inverse_dynamics", never)
    found = dyn.inverse_dynamics(heavy, *batch)
    assert used == ["inverse_dynamics-2"] * 2
    for row, wanted in zip(found, dyn.inverse_dynamics(heavy, *batch[:, :1]), strict=True):
        assert error(row[:1], wanted) < 1e-12
