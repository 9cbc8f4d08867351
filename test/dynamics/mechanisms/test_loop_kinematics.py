# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Bodies and Jacobians order by order, in the coordinates of a robot with and without loops."""

from math import factorial

import numpy as np
import pytest

from mechanisms import delta, five_bar
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import mechanisms
from multibody_dynamics.dynamics.mechanisms.loop_recursion import LAST
from multibody_dynamics.dynamics.model.records import BODY_ROW, TWIST
from reference import error
from robots import random_state, random_tree
from task_reference import taylor

ROBOTS = {
    "five-bar": mechanisms.closed_chain(five_bar("a", "e").system, five_bar().q),
    "delta": mechanisms.closed_chain(delta().system, delta().q),
    "tree": random_tree(5, seed=2),
}
ORDERS = range(4)


def arrays(model, rows=1):
    """Loops, tree, and memory for the joints and bodies, on a base at rest."""
    tree, loops = mechanisms.tree_and_loops(model, rows)
    bodies = np.zeros((model.body_count + 1, BODY_ROW))
    bodies[0, [0, 4, 8]] = 1.0  # the rotation of the base
    trig = np.zeros((2, model.body_count))
    return loops, tree.parents, np.array(tree.joint_rows), np.zeros((5, model.n)), trig, bodies


@pytest.mark.parametrize("name", ROBOTS)
def test_twists_and_jacobians_of_all_orders(name):
    """The twists are those of the forward kinematics, and the derivatives of J G those of a
    polynomial through nine points, where J is any function of time."""
    model, rng = ROBOTS[name], np.random.default_rng(3)
    state = random_state(model, seed=1) if name == "tree" else rng.uniform(-1, 1, (5, model.n))
    state[0] = model.home + 0.1 * state[0]
    state[4] = 0.0  # the fourth order is not needed for the third derivative of J
    J = rng.normal(size=(4, 2, model.body_count))
    loops, _, joints, rates, _, bodies = robot = arrays(model, 2)
    A = np.zeros((4, 2, model.n))
    rates[0] = state[0]
    assert mechanisms.place_joints(*robot)
    for k in ORDERS:
        mechanisms.move_bodies(k, *robot)
        mechanisms.jacobian_rows(k, loops, A)[:] = J[k]
        mechanisms.reduce_jacobian(k, loops, joints, bodies, A)
        rates[k + 1] = state[k + 1]
        mechanisms.rate_found(k + 1, loops, rates)
    expected = dyn.forward_kinematics(model, *state)
    found = bodies[1:, TWIST : TWIST + 24].reshape(-1, 4, 6)
    for k, twist in enumerate(expected[1:]):
        assert error(found[:, k], twist, axes=2) < 1e-11

    def reduced(t):
        G, q = np.eye(model.n), taylor(state, t)[0]
        if name != "tree":
            G = np.stack([model.tree_motion(q, e)[1] for e in G], axis=1)
        return taylor(J, t)[0] @ G

    h, steps = 0.02, np.arange(-4, 5)
    values = np.array([reduced(h * k) for k in steps])
    powers = np.linalg.inv(np.vander(steps, increasing=True).astype(float))
    series = np.tensordot(powers, values, 1)
    for k, accuracy in zip(ORDERS, (1e-12, 1e-9, 1e-7, 1e-5), strict=True):
        assert error(A[k], factorial(k) * series[k] / h**k) < accuracy


def test_a_position_is_closed_near_the_last_one_or_as_from_the_start():
    model = ROBOTS["five-bar"]
    loops, *_ = robot = arrays(model)
    motion, vectors, state = loops[4], loops[8], robot[3]
    state[0] = model.home
    guess = model.assembled + np.array([0.0, 2.5, 2.0, 0.0, 0.0])
    other = mechanisms.assemble(model.system, guess, fixed=model.joint_names)
    assert np.abs(other - model.assembled).max() > 0.5
    vectors[LAST, : model.body_count] = other
    assert mechanisms.place_joints(*robot)
    np.testing.assert_allclose(motion[0], other, atol=1e-12)
    mechanisms.return_to_start(loops)
    assert mechanisms.place_joints(*robot)
    np.testing.assert_allclose(motion[0], model.assembled, atol=1e-12)


def test_a_position_out_of_reach_is_not_closed():
    robot = arrays(ROBOTS["five-bar"])
    robot[3][0] = 3.0, 3.0
    assert not mechanisms.place_joints(*robot)
