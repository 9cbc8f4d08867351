# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Recorded dynamics of mechanisms with loops, against 40 digits and Pinocchio."""

import numpy as np
import pytest

from mechanisms import (
    FOUR_BAR,
    MOTORISED,
    closed_tree,
    four_bar,
    pinocchio_acceleration,
    reference_motion,
    reference_torques,
)
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import rigid
from multibody_dynamics.dynamics.mechanisms.traced_loops import (
    SINGULAR,
    trace_constrained_forward_dynamics,
    trace_constrained_gravity,
    trace_constrained_inverse_dynamics,
)
from multibody_dynamics.dynamics.rigid import TracedInputs, result_names, state_names
from reference import error

Inverse = dyn.mechanisms.ConstrainedInverseDynamicsSolver


def evaluate(program, order, rows, last, **others):
    return program.evaluate(
        **dict(zip(state_names(order + 3), rows, strict=False)), last=last, **others
    )


@pytest.mark.parametrize("order", [0, 1, 2])
@pytest.mark.parametrize("name", MOTORISED)
def test_torques_and_motion_with_40_digits(name, order):
    """From a configuration that is 3 mrad or mm away, as after a cycle of 1 ms."""
    mechanism = MOTORISED[name]
    system = mechanism.system
    own = system.indices(mechanism.independent)
    rates = np.random.default_rng(1).uniform(-1, 1, (4, system.n))
    exact = reference_motion(mechanism, mechanism.q, rates)
    solver = Inverse(system, mechanism.q, independent=mechanism.independent)
    passive = np.random.default_rng(2).normal(size=(3, len(system.passive)))
    torques = np.zeros((3, system.n))
    torques[:, system.passive_indices] = passive
    program = trace_constrained_inverse_dynamics(solver, order, for_solver=True)
    motion = exact.astype(float)
    last = motion[0] + np.where(np.isin(np.arange(system.n), own), 0.0, 3e-3)
    others = {f"passive torque {k}": torques[k] for k in range(order + 1)}
    found = evaluate(program, order, motion[:, own], last, **others)
    assert (abs(found["closure"]) < 1.0).all()
    expected = reference_torques(mechanism, exact, "minimum_torque", passive)
    for k, row in enumerate(result_names(order)):
        assert error(found[row], expected[k].astype(float)) < 1e-12
    for row, other in zip(found["motion"].reshape(order + 3, -1), motion, strict=False):
        assert error(row, other) < 1e-12


@pytest.mark.parametrize("name", MOTORISED)
def test_gravity_and_accelerations_with_40_digits(name):
    mechanism = MOTORISED[name]
    system, q = mechanism.system, mechanism.q
    own = system.indices(mechanism.independent)
    rates = np.random.default_rng(4).uniform(-1, 1, (2, system.n))
    solver = Inverse(system, q, independent=mechanism.independent)
    exact = reference_motion(mechanism, q, rates)
    at_rest = np.array([exact[0], 0 * exact[1], 0 * exact[2]])
    moving, held = (
        reference_torques(mechanism, state, "minimum_torque")[0].astype(float)
        for state in (exact, at_rest)
    )
    motion = exact.astype(float)
    found = trace_constrained_gravity(solver).evaluate(q=motion[0, own], last=q)
    assert (abs(found["closure"]) < 1.0).all()
    assert error(found["tau"], held) < 1e-12
    given = {"q": motion[0, own], "qd": motion[1, own], "tau": moving, "last": q}
    found = trace_constrained_forward_dynamics(solver).evaluate(**given)
    assert (abs(found["closure"]) < 1.0).all()
    assert error(found["qdd"], motion[2, own]) < 1e-11
    assert error(found["motion"].reshape(2, -1)[1], motion[1]) < 1e-12


@pytest.mark.parametrize("name", ["five-bar", "delta"])
def test_the_rate_of_the_momentum_is_the_torque_less_the_bias(name):
    """p = dT/ds'; its rate along a motion, by differences, is Q - beta."""
    mechanism = MOTORISED[name]
    model = dyn.mechanisms.closed_chain(mechanism.system, mechanism.q)
    q, qd, qdd = np.array(mechanism.motion(3))[:3, model.first_bodies]
    program, h = rigid.trace_momentum(model), 1e-3

    def at(t):
        state = {"q": q + t * qd + t**2 / 2 * qdd, "qd": qd + t * qdd}
        return program.evaluate(**state, last=model.configuration(q))

    far, near, now = (at(2 * h), at(-2 * h)), (at(h), at(-h)), at(0.0)
    rate = (8 * (near[0]["momentum"] - near[1]["momentum"])
            - (far[0]["momentum"] - far[1]["momentum"])) / (12 * h)  # fmt: skip
    assert error(now["momentum"], rigid.mass_matrix(model, q) @ qd) < 1e-12
    assert error(now["bias"], rigid.inverse_dynamics(model, q, qd, qdd).tau - rate) < 1e-8


@pytest.mark.parametrize("seed", range(2))
def test_pinocchio_accelerates_as_planned(seed):
    system, q, _, _ = closed_tree(seed, dyn.spherical())
    solver = Inverse(system, q)
    rates = np.random.default_rng(seed).uniform(-1, 1, (5, solver.dof))
    rates[0] = q[system.indices(solver.independent)]
    program = trace_constrained_inverse_dynamics(solver, 0)
    found = evaluate(program, 0, rates[:3], q)
    tau = np.zeros(system.n)
    tau[system.actuated_indices] = found["tau"]
    motion = found["motion"].reshape(3, -1)
    assert error(motion[2], pinocchio_acceleration(system, *motion[:2], tau)) < 1e-10


def test_wrenches_payload_and_gravity_are_inputs():
    mechanism = MOTORISED["five-bar"]
    system, body = mechanism.system, mechanism.system.tree.body_names[1]
    inputs = TracedInputs(gravity=np.ones(3, dtype=bool), payload=body, wrenches=(body,))
    solver = Inverse(system, mechanism.q, independent=mechanism.independent)
    program = trace_constrained_inverse_dynamics(solver, inputs=inputs)
    rng = np.random.default_rng(3)
    rates, gravity, W = rng.normal(size=(5, solver.dof)), rng.normal(size=3), rng.normal(size=18)
    rates[0] = solver.state[0]
    payload = np.array([1.5, 0.1, -0.2, 0.05, 0.01, 0.001, 0.0, 0.02, 0.002, 0.03])
    found = evaluate(program, 2, rates, mechanism.q, gravity=gravity, payload=payload,
                     **{"wrench 0": W})  # fmt: skip
    inertia = np.array([[0.01, 0.001, 0.0], [0.001, 0.02, 0.002], [0.0, 0.002, 0.03]])
    tree = system.tree.with_gravity(gravity)
    solver.set_model(tree.with_payload(body, payload[0], payload[1:4], inertia))
    solver.applied_wrenches[tree.body_index(body)] = W.reshape(3, 6)
    for row, expected in zip(result_names(2), solver(*rates), strict=True):
        assert error(found[row], expected) < 1e-12


def parts(solver, closure):
    """The entries of "closure" by what they report."""
    m, rows = len(solver.multipliers), len(solver._all_rows)
    names = ("rows", "steps", "moves", "columns", "way")
    ends = rows + m * np.arange(4)
    return dict(zip(names, np.split(abs(closure), ends), strict=True))


@pytest.mark.parametrize("what", ["way", "steps", "rows", "moves"])
def test_what_is_not_valid_is_reported(what):
    mechanism = MOTORISED["five-bar"]
    system = mechanism.system
    solver = Inverse(system, mechanism.q, independent=mechanism.independent)
    program = trace_constrained_inverse_dynamics(solver)
    state, last = np.zeros((5, solver.dof)), mechanism.q.copy()
    state[0] = solver.state[0]
    assert (abs(evaluate(program, 2, state, last)["closure"]) < 1.0).all()
    if what == "way":
        state[0] += 0.11
    elif what == "steps":  # so open that three steps do not close it
        last[system.indices(system.passive)] += (0.5, -0.5, 0.5)
    elif what == "moves":  # another joint has to turn by more than a radian
        last[system.indices(system.passive)] += (1.3, -1.3, 1.3)
    else:  # the planar chain is tilted against its base
        rows = solver.kinematics[3]
        rows[len(solver.multipliers) :, 1] += 2e-6
        program = trace_constrained_inverse_dynamics(solver)
    closure = evaluate(program, 2, state, last)["closure"]
    assert parts(solver, closure)[what].max() > 1.0
    state[0, 0] = np.nan
    assert np.isnan(evaluate(program, 2, state, last)["closure"]).any()


def test_a_nearly_singular_pose_is_reported():
    """A four-bar near the end of its rocker, where crank and coupler are in line."""
    crank, coupler, rocker, ground = FOUR_BAR
    system = four_bar().with_motors("rocker").system
    solver = Inverse(system, four_bar().q)
    reach = crank + coupler
    end = np.pi - np.arccos((ground**2 + rocker**2 - reach**2) / (2 * ground * rocker))
    program = trace_constrained_inverse_dynamics(solver)
    sines, distances = [], np.geomspace(solver.state[0, 0] - end, 1e-8, 300)
    for distance in distances:
        state = np.zeros((5, 1))
        state[0] = end + distance
        solver(*state)
        found = parts(solver, evaluate(program, 2, state, solver.motion[0])["closure"])
        sines.append(SINGULAR / np.sqrt(found["columns"].max()))
    assert found["columns"].max() > 1.0
    slopes = np.diff(np.log(sines)) / np.diff(np.log(distances))
    np.testing.assert_allclose(slopes[-100:], 0.5, atol=0.01)  # the square root of the distance
