# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Forces of a stance in the cycle against those of the plan, and what is refused."""

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics.control import FeedforwardLaw
from multibody_dynamics.resources import share_directory
from reference import error
from rejections import assert_rejected

FILES = share_directory() / "config" / "mechanisms"
FEET = [dyn.tasks.Contact(f"{leg}_FOOT", friction=0.6) for leg in ("FL", "FR", "HL", "HR")]
KNEES_INWARDS = [0.0, 0.75, -1.5] * 2 + [0.0, -0.75, 1.5] * 2  # rad
TIMES = np.arange(0.0, 0.4, 0.04)


@pytest.fixture(scope="module")
def model():
    return dyn.load_urdf(FILES / "quadruped.urdf")


@pytest.fixture(scope="module")
def plan(model):
    path = dyn.tasks.line(np.eye(4), dyn.se3.exp([0.05, 0.02, 0.0, 0.01, 0.0, -0.04]), law=0.4)
    return dyn.tasks.stance_motion(model, FEET, TIMES, path.sample(TIMES), KNEES_INWARDS)


def bases(plan):
    base = plan.base
    rates = np.stack([base.twist, base.acceleration, base.jerk, base.jounce], axis=1)
    return list(zip(base.pose, rates, strict=True))


def test_the_cycle_repeats_the_plan(model, plan):
    """Forces, and Q, Q' and Q'' of the law, in any order of the states."""
    standing = dyn.tasks.StandingForces(model, FEET)
    law = FeedforwardLaw(model, ground=standing)
    for k in (0, 5, 1, 9, 9, 3):
        law.move_base(*bases(plan)[k])
        law.desired[:] = plan.states[k]
        law.update()
        assert error(standing.forces, plan.forces[k]) < 1e-9
        for row, wanted in zip(law.torque, plan.torques[k], strict=True):
            assert error(row, wanted) < 1e-9


def test_the_ground_carries_what_other_forces_add(model):
    """A weight on the trunk, as a wrench on the hip that it rests on: the feet carry the sum."""
    standing = dyn.tasks.StandingForces(model, FEET)
    state = np.array([KNEES_INWARDS, *np.zeros((4, model.n))])
    wrenches = np.zeros((model.body_count, 3, 6))
    wrenches[0, 0, 5] = -5.0  # N
    standing.update(state, wrenches)
    mass = model.inertias[:, 5, 5].sum() + model.base_inertia[5, 5]
    total = standing.forces[0].sum(axis=0)
    np.testing.assert_allclose(total, [0.0, 0.0, 9.81 * mass + 5.0], atol=1e-9)
    assert wrenches[:, 0].sum(axis=0)[5] == pytest.approx(9.81 * mass, rel=1e-12)


def test_at_rest_the_base_rests_where_it_was(model, plan):
    law = FeedforwardLaw(model, ground=dyn.tasks.StandingForces(model, FEET))
    law.move_base(*bases(plan)[5])
    law.hold(plan.states[5, 0])
    wanted = dyn.tasks.StandingForces(model, FEET)
    wanted.move_base(plan.base.pose[5], np.zeros((4, 6)))
    wrenches = np.zeros((model.body_count, 3, 6))
    still = np.array([plan.states[5, 0], *np.zeros((4, model.n))])
    wanted.update(still, wrenches)
    forces = {name: wrenches[i] for i, name in enumerate(model.body_names)}
    Q = dyn.inverse_dynamics(model, *still, wrenches=forces, base=dyn.BaseMotion(plan.base.pose[5]))
    assert error(law.torque[0], Q[0]) < 1e-9
    assert np.abs(law.torque[1:]).max() < 1e-12


def test_without_forces_nothing_is_finite_and_the_law_says_why(model):
    law = FeedforwardLaw(model, ground=dyn.tasks.StandingForces(model, FEET))
    state = np.array([KNEES_INWARDS, *np.zeros((4, model.n))])
    for twist, why in (
        (np.zeros(6), ""),
        ([0.0, 0.0, 0.0, 0.2, 0.0, 0.0], "'FL_FOOT' moves by 0.2 m/s"),
        (np.zeros(6), ""),
    ):
        law.desired[:] = state
        law.move_base(np.eye(4), np.array([twist, *np.zeros((3, 6))]))
        law.update()
        assert law.is_finite() == (not why)
        assert why in law.failure()
    law.desired[0, 0] = np.nan
    law.update()
    assert not law.is_finite()
    law.desired[:] = state
    law.move_base(np.eye(4), np.zeros((4, 6)))
    law.update()
    assert law.is_finite()
    beyond = np.zeros((4, 6))
    beyond[1, 3] = 8.0  # m/s^2, of 0.6 g that friction allows
    law.move_base(np.eye(4), beyond)
    law.desired[2] = 0.0
    law.update()
    assert not law.is_finite()
    assert "friction cones" in law.failure()


def test_feet_on_a_line_are_a_problem_not_an_error(model):
    """Of a cycle, which goes on with the next state."""
    side = [dyn.tasks.Contact("FL_FOOT"), dyn.tasks.Contact("HL_FOOT")]
    side.append(dyn.tasks.Contact("FL_FOOT", points=[0.1, 0.0, 0.0]))
    standing = dyn.tasks.StandingForces(model, side)
    standing.update(np.zeros((5, model.n)), np.zeros((model.body_count, 3, 6)))
    assert "on a line" in standing.problem
    assert np.isnan(standing.forces).all()


def test_bad_contacts_are_named(model):
    weightless = model.with_gravity((0.0, 0.0, 0.0))
    assert_rejected(
        (lambda: dyn.tasks.StandingForces(weightless, FEET), "weight"),
        (lambda: dyn.tasks.StandingForces(model, FEET[:2]), "three got 2"),
        (lambda: dyn.tasks.StandingForces(model, [dyn.tasks.Contact("PAW")] * 3), "PAW"),
    )
