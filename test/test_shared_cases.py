# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Reference robots of the shared data: every stored number that the library computes.

Torques, poses and rates were computed in 220-bit Taylor arithmetic and rounded once; all other
numbers are those of Pinocchio.
"""

import numpy as np
import pinocchio as pin
import pytest

from conftest import SHARED
from multibody_dynamics import dynamics as dyn
from reference import error
from shared_robots import EQUAL, Case, close

ROBOTS = sorted(file.stem for file in (SHARED / "cases").glob("*.npz"))


@pytest.fixture(scope="module", params=ROBOTS)
def case(request):
    return Case(request.param)


def both_ways(function, *batches):
    """The results for all states in one call, which must equal those of separate calls."""
    together = function(*batches)
    for k in range(len(batches[0])):
        single = function(*(batch[k] for batch in batches))
        for one, all_of_them in zip(single, together, strict=True):
            assert error(one, all_of_them[k], one.ndim) < 1e-15
    return together


def test_there_are_cases():
    assert {"panda7", "ur5", "scara", "solo12"} <= set(ROBOTS)


def test_the_robot_is_read_correctly(case):
    names = [str(name) for name in case["joint_names"]]
    assert sorted(case.model.joint_names) == sorted(names)
    assert [case.model.body_names[i] for i in case.order] == [str(x) for x in case["link_names"]]
    parents = [case.model.parents[i] for i in case.order]
    assert parents == [-1 if p < 0 else case.order[p] for p in case["parent"]]
    assert [case.model.joint_types[i] for i in case.order] == list(case["joint_types"])


@pytest.mark.parametrize("suffix", ["", "_tilt", "_wworld", "_wlocal"])
def test_torques_and_rates(case, suffix):
    model = case.model
    if suffix == "_tilt":
        model = model.with_gravity(case["gravity_tilt"])

    def torques(W, *state):
        if suffix == "_wworld":
            return dyn.inverse_dynamics(model, *state, wrenches={case.tip: W})
        if suffix == "_wlocal":
            W = dyn.wrench_to_world(model, *state[:3], case.tip, W)
            return dyn.inverse_dynamics(model, *state, wrenches={case.tip: W})
        return dyn.inverse_dynamics(model, *state)

    result = both_ways(torques, case["wrench"], *case.states)
    for part, key in zip(result, ("Q", "Qd", "Qdd"), strict=True):
        assert close(part[:, case.order], case[key + suffix]), key + suffix


def test_the_solver_of_the_control_cycle(case):
    solver = dyn.InverseDynamicsSolver(case.model)
    results = np.array([np.array(solver(*case.states[:, k])) for k in range(len(case["q"]))])
    for part, key in zip(np.swapaxes(results, 0, 1), ("Q", "Qd", "Qdd"), strict=True):
        assert close(part[:, case.order], case[key]), key


@pytest.mark.parametrize("state", range(3))
def test_generic_scalars(case, state):
    result = dyn.generic_inverse_dynamics(case.model, *case.states[:, state]).astype(float)
    for part, key in zip(result, ("Q", "Qd", "Qdd"), strict=True):
        assert close(part[case.order], case[key][state]), key


def test_poses(case):
    (pose,) = both_ways(lambda q: [dyn.forward_kinematics(case.model, q).pose], case.states[0])
    assert close(pose[:, case.order], case["T"], axes=2)
    tip = dyn.frame_pose(case.model, case.states[0], case.tip)
    assert close(tip, case["T"][:, case["tip_index"]], axes=2)


@pytest.mark.parametrize("representation", dyn.REPRESENTATIONS)
def test_twists_to_jounces(case, representation):
    def motion(*state):
        return dyn.forward_kinematics(case.model, *state, representation=representation)[1:]

    angular = case["Vs" if representation in ("spatial", "hybrid") else "Vb"][..., :3]
    linear = {"spatial": case["Vs"][..., 3:], "body": case["Vb"][..., 3:]}.get(
        representation, case["p_derivs"][:, :, 1:]
    )
    expected = np.concatenate([angular, linear], axis=-1)
    for order, rate in enumerate(both_ways(motion, *case.states)):
        assert close(rate[:, case.order], expected[:, :, order]), order


@pytest.mark.parametrize(
    ("representation", "key"), [("spatial", "J_space_tip"), ("body", "J_body_tip")]
)
def test_jacobians(case, representation, key):
    def jacobian(q):
        return [dyn.jacobian(case.model, q, case.tip, representation=representation)]

    (J,) = both_ways(jacobian, case.states[0])
    assert close(J[..., case.order], case[key], axes=2)


def test_mass_matrix_and_gravity(case):
    def of_position(q):
        return dyn.mass_matrix(case.model, q), dyn.gravity_forces(case.model, q)

    M, weight = both_ways(of_position, case.states[0])
    assert close(M[:, case.order][:, :, case.order], case["M"], axes=2)
    assert close(weight[:, case.order], case["grav"])


def test_velocity_forces(case):
    q, qd = case.states[:2]
    weightless = case.model.with_gravity(np.zeros(3))
    bias = dyn.inverse_dynamics(weightless, q, qd, np.zeros_like(q)).tau
    assert close(bias[:, case.order], case["bias_cor"])


def test_forward_dynamics(case):
    q, qd, tau = case.rows("q", "qd", "tau_fd")
    (qdd,) = both_ways(lambda *x: [dyn.forward_dynamics(case.model, *x)], q, qd, tau)
    assert close(qdd[:, case.order], case["qdd_fd"])


def test_pinocchio_reads_the_same_file(case):
    """Agreement with Pinocchio on the same URDF file, at states other than the stored ones."""
    oracle = pin.buildModelFromUrdf(str(case.urdf))
    oracle.gravity.linear = case.model.gravity
    data = oracle.createData()
    for q, qd, qdd in np.random.default_rng(1).normal(size=(5, 3, case.model.n)):
        full = pin.neutral(oracle)
        rates = np.zeros((2, oracle.nv))
        for i, name in enumerate(case.model.joint_names):
            joint = oracle.joints[oracle.getJointId(name)]
            rates[:, joint.idx_v] = qd[i], qdd[i]
            values = [q[i]] if joint.nq == 1 else [np.cos(q[i]), np.sin(q[i])]
            full[joint.idx_q : joint.idx_q + joint.nq] = values
        expected = pin.rnea(oracle, data, full, *rates)
        columns = [oracle.joints[oracle.getJointId(x)].idx_v for x in case.model.joint_names]
        assert error(dyn.inverse_dynamics(case.model, q, qd, qdd).tau, expected[columns]) < EQUAL
