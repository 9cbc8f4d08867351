# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Joints with several degrees of freedom: dynamics against compositions and Pinocchio."""

from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import so3
from multibody_dynamics.dynamics.mechanisms.motion_subspaces import (
    BodyFixedJoint,
    ExponentialJoint,
    SphericalJoint,
)
from multibody_dynamics.dynamics.mechanisms.multi_dof import MultiDofModel
from multibody_dynamics.dynamics.model import inertia, joints
from reference import error
from rejections import assert_rejected
from robots import (
    TILTED,
    panda,
    random_base,
    random_inertia,
    random_pose,
    random_tree,
    random_wrenches,
    with_multidof,
    with_rotors,
)

SEEDS = st.integers(0, 2**32 - 1)
BALL = slice(0, 3)
MODELS = [with_multidof(), with_multidof(8), random_tree(7, seed=5), panda()]
each_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: f"{m.name}-{m.n}")


def draw(n, count, *batch, seed=1):
    return np.random.default_rng(seed).normal(size=(count, *batch, n))


def grown(seed, base=SphericalJoint(), gravity=TILTED):  # noqa: B008
    """A branched robot with all kinds of joints on a given joint of the base."""
    rng = np.random.default_rng(seed)
    moved = [
        base,
        joints.universal((0.1, 0, 0.2), (1, 0.2, 0), (0, 0.9, 0.4)),
        ExponentialJoint.spherical((0.05, 0.1, -0.1)),
        joints.planar((0.1, -0.2, 1)),
        joints.helical((0, 1, 0.3), (0.1, 0, 0), 0.1),
    ]
    return MultiDofModel(
        parents=(-1, 0, 0, 2, 1),
        joints=moved,
        placements=[random_pose(rng) for _ in moved],
        inertias=[random_inertia(rng) for _ in moved],
        gravity=gravity,
    )


# against compositions of joints with one degree of freedom


@pytest.mark.parametrize("base", [None, random_base(6, 4)], ids=["at rest", "moving"])
@each_model
def test_motions_and_torques_equal_those_of_the_composition(model, base):
    model = with_rotors(model)
    grouped = MultiDofModel.from_model(model)
    state, loaded = draw(model.n, 5, 4), {"wrenches": random_wrenches(grouped, 4), "base": base}
    ours = grouped.forward_kinematics(*state, base=base)
    theirs = dyn.forward_kinematics(model, *state, base=base, representation="body")
    at = [model.body_names.index(body) for body in grouped.body_names]
    assert error(ours.pose, theirs.pose[:, at], axes=2) < 1e-13
    for rate, expected in zip(ours[1:], theirs[1:], strict=True):
        assert error(rate, expected[:, at]) < 1e-13
    torques = dyn.inverse_dynamics(model, *state, **loaded)
    for tau, expected in zip(grouped.inverse_dynamics(*state, **loaded), torques, strict=True):
        assert error(tau, expected) < 2e-14
    qdd = dyn.forward_dynamics(model, *state[:3], **loaded)
    assert error(grouped.forward_dynamics(*state[:3], **loaded), qdd) < 1e-12
    held = dict.fromkeys(("qdd", "tau"), state[2]) | {"prescribed": range(len(grouped.joint_names))}
    split = grouped.hybrid_dynamics(*state[:2], **held, **loaded)
    assert error(split.tau, torques.tau) < 2e-14
    assert grouped.forward_kinematics(state[0]).twist is None
    only_tau = grouped.inverse_dynamics(*state[:3], **loaded)
    assert error(only_tau.tau, torques.tau) < 2e-14
    assert only_tau.tau_dot is only_tau.tau_ddot is None


def test_hybrid_dynamics_equal_those_of_the_composition():
    model = with_rotors(with_multidof())
    grouped = MultiDofModel.from_model(model)
    q, qd, qdd, tau = draw(model.n, 4, 3, seed=4)
    wrenches = random_wrenches(grouped, 3)
    for held in ([0, 3], [2], [1, 4, 5]):
        single = [k for i in held for k in range(model.n)[grouped.coordinates[i]]]
        known = np.isin(np.arange(model.n), single)
        given = {"qdd": np.where(known, qdd, np.nan), "tau": np.where(known, np.nan, tau)}
        ours = grouped.hybrid_dynamics(q, qd, prescribed=held, **given, wrenches=wrenches)
        theirs = dyn.hybrid_dynamics(model, q, qd, prescribed=single, **given, wrenches=wrenches)
        assert error(ours.qdd, theirs.qdd) < 1e-12
        assert error(ours.tau, theirs.tau) < 1e-12


def test_given_groups():
    model = with_multidof()
    state = draw(model.n, 5)
    arm = {"arm": ("ball_2", "ball_3"), "base": ("base_1", "base_2", "base_3")}
    grouped = MultiDofModel.from_model(model, arm)
    assert grouped.joint_names[:3] == ("base", "shoulder_1", "shoulder_2")
    assert "arm" in grouped.joint_names
    assert "ball_1" in grouped.joint_names
    assert grouped.coordinate_names == model.joint_names
    apart = MultiDofModel.from_model(model, {})
    assert apart.joint_names == model.joint_names
    expected = dyn.inverse_dynamics(model, *state)
    for robot in (grouped, apart):
        for ours, theirs in zip(robot.inverse_dynamics(*state), expected, strict=True):
            assert error(ours, theirs) < 2e-14


# other laws


@settings(max_examples=15)
@given(SEEDS)
def test_forward_and_inverse_dynamics_invert_each_other(seed):
    """Tables 2 and 3, in either order."""
    robot = grown(seed, base=joints.floating())
    q, qd, tau = np.random.default_rng(seed).uniform(-1, 1, (3, 4, robot.n))
    wrenches = random_wrenches(robot, 4)
    qdd = robot.forward_dynamics(q, qd, tau, wrenches=wrenches)
    back = robot.inverse_dynamics(q, qd, qdd, wrenches=wrenches).tau
    assert np.abs(back - tau).max() < 1e-12 * (1 + np.abs(qdd).max())
    again = robot.forward_dynamics(q, qd, back, wrenches=wrenches)
    assert error(again, qdd) < 1e-11


def test_torque_rates_are_the_derivatives_of_the_torques():
    """By central differences, also for coordinates of the first kind, which have no composition."""
    robot = grown(9, base=ExponentialJoint.floating())
    state = 0.5 * draw(robot.n, 5, seed=8)
    wrench = np.random.default_rng(3).normal(size=(3, 6))
    powers = lambda t, k: [t**j / np.prod(range(1, j + 1)) for j in range(5 - k)]  # noqa: E731

    def tau(t):
        rows = [np.tensordot(powers(t, k), state[k:], 1) for k in range(3)]
        W = np.tensordot(powers(t, 2), wrench, 1)
        return robot.inverse_dynamics(*rows, wrenches={"body5": W}).tau

    h = 1e-3
    near, far = [np.array([tau(-d), tau(0), tau(d)]) for d in (h, 2 * h)]
    first = (8 * (near[2] - near[0]) - (far[2] - far[0])) / (12 * h)
    second = (16 * (near[0] + near[2]) - far[0] - far[2] - 30 * near[1]) / (12 * h**2)
    rates = robot.inverse_dynamics(*state, wrenches={"body5": wrench})
    assert error(rates.tau_dot, first) < 1e-9
    assert error(rates.tau_ddot, second) < 1e-8


def test_dynamics_do_not_depend_on_the_coordinates_of_a_joint():
    """A ball by yaw, pitch and roll and by a rotation vector: the same motion and wrench."""
    angles = grown(2)
    vector = replace(angles, joints=(ExponentialJoint.spherical(), *angles.joints[1:]))
    q, qd, qdd, qddd = draw(angles.n, 4, seed=5)
    a, b = angles.joints[0], vector.joints[0]
    S = a.subspace_rates(q[BALL], qd[BALL], qdd[BALL])
    V = S[0] @ qd[BALL]
    Vd = S[0] @ qdd[BALL] + S[1] @ qd[BALL]
    Vdd = S[0] @ qddd[BALL] + 2 * S[1] @ qdd[BALL] + S[2] @ qd[BALL]
    x = so3.log(a.pose(q[BALL])[:3, :3])
    solve = np.linalg.inv(b.subspace(x)[:3])
    xd = solve @ V[:3]
    Z = b.subspace_rates(x, xd)
    xdd = solve @ (Vd - Z[1] @ xd)[:3]
    Z = b.subspace_rates(x, xd, xdd)
    xddd = solve @ (Vdd - 2 * Z[1] @ xdd - Z[2] @ xd)[:3]
    ball, others = (x, xd, xdd, xddd), (q[3:], qd[3:], qdd[3:], qddd[3:])
    state = [np.concatenate(rows) for rows in zip(ball, others, strict=True)]
    ours, theirs = vector.inverse_dynamics(*state), angles.inverse_dynamics(q, qd, qdd, qddd)
    for k in range(2):
        assert error(ours[k][3:], theirs[k][3:]) < 1e-13
    # tau = S^T F and tau' = S'^T F + S^T F' with the same F
    F = np.linalg.solve(S[0][:3].T, theirs.tau[BALL])
    assert error(Z[0][:3].T @ F, ours.tau[BALL]) < 1e-13
    Fd = np.linalg.solve(S[0][:3].T, theirs.tau_dot[BALL] - S[1][:3].T @ F)
    assert error(Z[0][:3].T @ Fd + Z[1][:3].T @ F, ours.tau_dot[BALL]) < 1e-13
    assert error(vector.forward_dynamics(*state[:2], ours.tau), state[2]) < 1e-12


# Pinocchio: its velocities of planar and floating joints are V = S q' in another order


class Twin:
    """A robot with a ball, planar, floating and revolute joint, here and in Pinocchio."""

    rows: ClassVar = ([0, 1, 2], [3, 4, 2], [3, 4, 5, 0, 1, 2], [2])

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        parents = (-1, 0, 1, 0)
        theirs = (
            pin.JointModelSphericalZYX(), pin.JointModelPlanar(),
            pin.JointModelFreeFlyer(), pin.JointModelRZ(),
        )  # fmt: skip
        self.robot = MultiDofModel(
            parents=parents,
            joints=(
                SphericalJoint(),
                joints.planar(),
                joints.floating(),
                joints.revolute(joints.Z),
            ),
            placements=[random_pose(rng) for _ in parents],
            inertias=[random_inertia(rng) for _ in parents],
            gravity=TILTED,
        )
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(TILTED), np.zeros(3))
        for i, (parent, joint) in enumerate(zip(parents, theirs, strict=True)):
            k = self.model.addJoint(parent + 1, joint, pin.SE3(self.robot.placements[i]), f"{i}")
            body = pin.Inertia(*inertia.decompose(self.robot.inertias[i]))
            self.model.appendBodyToJoint(k, body, pin.SE3.Identity())

    def map(self, q, qd):
        """Pinocchio's q, and G, G' with its velocity v = G q'."""
        n = self.robot.n
        position, G, Gd = [], np.zeros((n, n)), np.zeros((n, n))
        for joint, own, rows in zip(
            self.robot.joints, self.robot.coordinates, self.rows, strict=True
        ):
            x = q[own]
            if len(rows) == 6:
                R = pin.Quaternion(joint.pose(x)[:3, :3])
                position += [*x[:3], *R.coeffs()]
            elif rows == [3, 4, 2]:
                position += [x[0], x[1], np.cos(x[2]), np.sin(x[2])]
            else:
                position += [*x]
                G[own, own] = np.eye(len(rows))
                continue
            G[own, own] = joint.subspace(x)[rows]
            Gd[own, own] = joint.subspace_dot(x, qd[own])[rows]
        return np.array(position), G, Gd


@pytest.mark.parametrize("seed", range(2))
def test_pinocchio_agrees(seed):
    twin = Twin(seed)
    data = twin.model.createData()
    order = [twin.model.joints[i + 1].idx_v for i in range(4)]
    assert order == [own.start for own in twin.robot.coordinates]
    for q, qd, qdd in draw(twin.robot.n, 3, 3, seed=seed).swapaxes(0, 1):
        x, G, Gd = twin.map(q, qd)
        pin.forwardKinematics(twin.model, data, x)
        pose = twin.robot.forward_kinematics(q).pose
        assert error(pose[-1], data.oMi[4].homogeneous, axes=2) < 1e-14
        theirs = pin.rnea(twin.model, data, x, G @ qd, G @ qdd + Gd @ qd)
        tau = twin.robot.inverse_dynamics(q, qd, qdd).tau
        assert error(tau, G.T @ theirs) < 1e-13
        accelerated = pin.aba(twin.model, data, x, G @ qd, np.linalg.solve(G.T, tau))
        assert error(G @ qdd + Gd @ qd, accelerated) < 1e-11
        assert error(twin.robot.forward_dynamics(q, qd, tau), qdd) < 1e-11


# Joints with body-fixed rates: Pinocchio's spherical and free joint have the same velocities


class BodyFixedTwin:
    """A ball, an arm, a second ball and a free body, here and in Pinocchio."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        parents = (-1, 0, 1, 0)
        self.robot = MultiDofModel(
            parents=parents,
            joints=(
                BodyFixedJoint.spherical(), joints.revolute(joints.Z),
                BodyFixedJoint.spherical(), BodyFixedJoint.floating(),
            ),
            placements=[random_pose(rng) for _ in parents],
            inertias=[random_inertia(rng) for _ in parents],
            gravity=TILTED,
        )  # fmt: skip
        self.model = pin.Model()
        self.model.gravity = pin.Motion(np.array(TILTED), np.zeros(3))
        theirs = (
            pin.JointModelSpherical(), pin.JointModelRZ(),
            pin.JointModelSpherical(), pin.JointModelFreeFlyer(),
        )  # fmt: skip
        for i, (parent, joint) in enumerate(zip(parents, theirs, strict=True)):
            placement = pin.SE3(self.robot.placements[i])
            k = self.model.addJoint(parent + 1, joint, placement, f"{i}")
            body = pin.Inertia(*inertia.decompose(self.robot.inertias[i]))
            self.model.appendBodyToJoint(k, body, pin.SE3.Identity())
        self.order = np.r_[0:7, 10:13, 7:10]  # linear first

    def position(self, q):
        parts = []
        for joint, own in zip(self.robot.joints, self.robot.coordinates, strict=True):
            T = joint.pose(q[own])
            R = pin.Quaternion(T[:3, :3]).coeffs()
            parts += [*({1: q[own], 3: R}.get(joint.degrees, (*T[:3, 3], *R)))]
        return np.array(parts)


POSES = {
    "pitch of 90 deg": np.pi / 2 * np.array([0, 1, 0]),
    "half a turn": np.pi * np.array([0.6, 0, 0.8]),
    "a full turn": 2 * np.pi * np.array([0, 0.6, 0.8]),
    "two turns and more": np.array([9.0, -8.0, 7.0]),
}


@pytest.mark.parametrize("turn", POSES.values(), ids=POSES)
def test_joints_with_body_fixed_rates_agree_with_pinocchio_at_any_pose(turn):
    twin = BodyFixedTwin(3)
    robot, order, data = twin.robot, twin.order, twin.model.createData()
    q, qd, qdd = draw(robot.n, 3, seed=4)
    for k in (0, 4, 7):
        q[k : k + 3] = turn
    x = twin.position(q)
    theirs = np.empty(robot.n)
    theirs[order] = pin.rnea(twin.model, data, x, qd[order], qdd[order])
    tau = robot.inverse_dynamics(q, qd, qdd).tau
    assert error(tau, theirs) < 1e-13
    assert error(robot.forward_dynamics(q, qd, tau), qdd) < 1e-11
    M = pin.crba(twin.model, data, x, pin.Convention.LOCAL)
    assert error(robot.mass_matrix(q)[np.ix_(order, order)], M, axes=2) < 1e-13
    held = robot.hybrid_dynamics(q, qd, prescribed=["joint1", "joint4"], qdd=qdd, tau=tau)
    assert error(held.qdd, qdd) < 1e-11
    assert error(held.tau, tau) < 1e-12


def test_torque_rates_of_body_fixed_rates_are_derivatives_along_a_motion():
    """R(t) = R_0 exp(p(t)) with a polynomial p; torques by Pinocchio, differences in time."""
    twin = BodyFixedTwin(5)
    robot, order, data = twin.robot, twin.order, twin.model.createData()
    start, *p = 0.7 * draw(robot.n, 5, seed=9)
    first = [BodyFixedJoint(j.screws) if j.degrees > 1 else j for j in robot.joints]
    second = [ExponentialJoint(j.screws) if j.degrees > 1 else j for j in robot.joints]

    def motion(t):
        """q, and nu with three derivatives, from those of p."""
        rows = [np.zeros(robot.n) for _ in range(5)]
        for k in range(5):
            for j in range(max(k, 1), 5):
                rows[k] += p[j - 1] * t ** (j - k) / np.prod(range(1, j - k + 1))
        state = [np.zeros(robot.n) for _ in range(5)]
        for a, b, own in zip(first, second, robot.coordinates, strict=True):
            x = [row[own] for row in rows]
            if b.degrees == 1:
                for k in range(5):
                    state[k][own] = x[k] + (start[own] if k == 0 else 0)
                continue
            T = a.pose(start[own]) @ b.pose(x[0])
            log = dyn.se3.log(T)
            state[0][own] = log @ np.linalg.pinv(b.screws)
            S = b.subspace_rates(*x[:4])
            for k in range(4):
                V = dyn.core.product_rule.leibniz(k, np.matmul, S, x[1:])
                state[k + 1][own] = V @ np.linalg.pinv(b.screws)
        return state

    def tau(t):
        q, qd, qdd, *_ = motion(t)
        found = np.empty(robot.n)
        found[order] = pin.rnea(twin.model, data, twin.position(q), qd[order], qdd[order])
        return found

    h = 2e-3
    near, far = [np.array([tau(-d), tau(0.0), tau(d)]) for d in (h, 2 * h)]
    first_difference = (8 * (near[2] - near[0]) - (far[2] - far[0])) / (12 * h)
    second_difference = (16 * (near[0] + near[2]) - far[0] - far[2] - 30 * near[1]) / (12 * h**2)
    rates = robot.inverse_dynamics(*motion(0.0))
    assert error(rates.tau, tau(0.0)) < 1e-13
    assert error(rates.tau_dot, first_difference) < 1e-8
    assert error(rates.tau_ddot, second_difference) < 1e-7


def test_the_tree_serves_the_other_functions():
    """The body-fixed Jacobian and the kinetic energy, against Pinocchio."""
    twin = BodyFixedTwin(6)
    robot, order, data = twin.robot, twin.order, twin.model.createData()
    q, qd, qdd = draw(robot.n, 3, seed=5)
    rows = robot.in_tree(q, qd, qdd)
    own = [robot.tree.joint_index(name) for name in robot.coordinate_names]
    J = np.empty((6, robot.n))
    ours = dyn.jacobian(robot.tree, rows[0], "body3", representation="body")
    J[:, order] = pin.computeJointJacobian(twin.model, data, twin.position(q), 3)
    assert error(ours[:, own], J[[3, 4, 5, 0, 1, 2]], axes=2) < 1e-13
    assert error(rows[1][own], qd) < 1e-15
    energy = dyn.rigid.kinetic_energy(robot.tree, *rows[:2])
    theirs = pin.computeKineticEnergy(twin.model, data, twin.position(q), qd[order])
    assert energy == pytest.approx(theirs, rel=1e-12)


def linkage(ball):
    """A crank, a rod on a ball, and a rocker that a universal joint connects to the rod."""
    at = [dyn.se3.from_rotation_translation(np.eye(3), (x, y, 0)) for x, y in
          ((0, 0), (0.2, 0), (0.7, 0.1))]  # fmt: skip
    rng = np.random.default_rng(2)
    return MultiDofModel(
        parents=(-1, 0, -1),
        joints=(dyn.revolute(joints.Z), ball, dyn.revolute((0, 0.3, 1))),
        placements=at,
        inertias=[random_inertia(rng) for _ in at],
        joint_names=("crank", "ball", "rocker"),
        body_names=("crank", "rod", "rocker"),
    )


def test_a_ball_in_a_loop_at_a_pitch_of_90_degrees():
    """Compiled and plain torques of the crank equal those with other angles, regular there."""
    turns = dyn.so3.exp([[0, 0, 0.4], [0, np.pi / 2, 0]])
    R = turns[0] @ turns[1]
    # R = Rot_y(a) Rot_z(b) Rot_x(c): regular where yaw, pitch and roll are not
    b = np.arcsin(R[1, 0])
    other = [np.arctan2(-R[2, 0], R[0, 0]), b, np.arctan2(-R[1, 2], R[1, 1])]
    held = linkage(BodyFixedJoint.spherical())
    angles = linkage(np.stack([dyn.revolute(axis) for axis in (joints.Y, joints.Z, joints.X)]))
    rates = draw(4, 1, seed=4)[0]
    found = []
    for robot, ball in ((held, so3.log(R)), (angles, other)):
        tree = robot.tree
        x = robot.in_tree([0.3, *ball, 0.4])[0]
        rod = dyn.forward_kinematics(tree, x).pose[tree.body_names.index("rod")]
        cut = dyn.mechanisms.LoopClosure.at(
            tree, "pin", "rod", "rocker", dyn.universal((0, 0, 0), (1, 0, 0), (0, 1, 0)),
            point=rod[:3, 3] + np.array([0.1, 0.2, -0.4]), q=x,
        )  # fmt: skip
        motors = ["crank", *robot.held_joints]
        system = dyn.mechanisms.ConstrainedModel(tree, [cut], actuated=motors)
        solver = dyn.mechanisms.ConstrainedInverseDynamicsSolver(system, x, independent=motors)
        moving = np.zeros((4, len(motors)))
        moving[:, 0] = rates
        indices = system.actuated_indices
        torques = [np.array(solver(x[indices], *moving))]
        motion = dyn.mechanisms.consistent_motion(
            system, x, *solver.motion[1:], fixed=system.actuated
        )
        plain = dyn.mechanisms.constrained_inverse_dynamics(system, *motion)
        for ours, expected in zip(torques[0], plain[:3], strict=True):
            assert error(ours, expected[indices]) < 1e-11
        for _ in range(4):  # away from there
            x = x + 0.15 * (np.array(tree.joint_names) == "crank")
            torques.append(np.array(solver(x[indices], *moving)))
        found.append(np.array(torques))
    assert np.abs(found[0][..., 1:]).max() < 1e-12 * np.abs(found[0]).max()
    assert error(found[0][..., :1], found[1]) < 1e-10


def test_kinematics_of_body_fixed_rates():
    """The twist of a ball is nu; its derivatives are those of nu."""
    state = draw(3, 5, 2, seed=6)
    state[0] *= 5.0
    ball = MultiDofModel(
        parents=(-1,), joints=(BodyFixedJoint.spherical(),), placements=[np.eye(4)],
        inertias=[random_inertia(np.random.default_rng(1))],
    )  # fmt: skip
    motion = ball.forward_kinematics(*state)
    assert error(motion.pose[:, 0, :3, :3], so3.exp(state[0]), axes=2) < 1e-14
    for rate, nu in zip(motion[1:], state[1:], strict=True):
        assert error(rate[:, 0, :3], nu) < 1e-14


def test_poses_need_no_motion_subspace():
    class Posed(ExponentialJoint):
        def _rates(self, rows):
            raise AssertionError

    twin = grown(5, base=ExponentialJoint.floating())
    robot = replace(twin, joints=(Posed(np.eye(6)), *twin.joints[1:]))
    q = draw(robot.n, 1, 2, seed=3)[0]
    np.testing.assert_array_equal(robot.forward_kinematics(q).pose, twin.forward_kinematics(q).pose)


def test_joints_whose_motions_form_no_group():
    """A homokinetic joint, exp(X_1 q_1 + X_2 q_2): power, and the dynamics invert each other."""
    bent = ExponentialJoint(joints.universal((0.1, 0, 0), (1, 0, 0), (0, 1, 0)))
    robot = replace(grown(4, base=bent), reflected_inertia=np.linspace(0.1, 0.3, 11))
    q, qd, qdd = 0.4 * draw(robot.n, 3, seed=2)
    tau = robot.inverse_dynamics(q, qd, qdd).tau
    assert error(robot.forward_dynamics(q, qd, tau), qdd) < 1e-12
    h = 1e-5
    energy = [0.5 * v @ robot.mass_matrix(x) @ v for x, v in
              [(q + s * h * qd, qd + s * h * qdd) for s in (-1, 1)]]  # fmt: skip
    weightless = replace(robot, gravity=(0, 0, 0)).inverse_dynamics(q, qd, qdd).tau
    assert weightless @ qd == pytest.approx((energy[1] - energy[0]) / (2 * h), rel=1e-8)


# errors


def test_a_singular_parametrisation_is_named():
    robot = grown(1)
    q = np.zeros((3, robot.n))
    q[1, 1] = np.pi / 2
    with pytest.raises(
        dyn.DynamicsError, match=r"'joint1'.*loses rank.*pitch of \+-90 deg.*BodyFixed"
    ):
        robot.forward_dynamics(q, 0 * q, 0 * q)
    held = robot.hybrid_dynamics(q, 0 * q, prescribed=["joint1"], qdd=0 * q, tau=0 * q)
    assert np.isfinite(held.tau).all()
    vector = replace(robot, joints=(ExponentialJoint.spherical(), *robot.joints[1:]))
    q[:] = 0
    for axis in ([0.6, 0, 0.8], [0, 0, 1]):
        q[2, :3] = 2 * np.pi * np.array(axis)
        with pytest.raises(dyn.DynamicsError, match=r"'joint1'.*full turn.*se3\.log"):
            vector.forward_dynamics(q, 0 * q, 0 * q)


def test_a_body_without_inertia_is_named():
    point = dyn.spatial_inertia(2.0, (0.1, 0, 0), np.zeros((3, 3)))
    robot = MultiDofModel(
        parents=(-1,), joints=(SphericalJoint(),), placements=[np.eye(4)], inertias=[point]
    )
    with pytest.raises(dyn.DynamicsError, match=r"'joint1' has no inertia.*'body1'"):
        robot.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3))
    with_rotor = replace(robot, reflected_inertia=[0.1, 0.1, 0.1])
    assert np.isfinite(with_rotor.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3))).all()


@pytest.mark.parametrize("ball", [ExponentialJoint.spherical(), BodyFixedJoint.spherical()])
def test_only_a_singular_mass_matrix_is_refused(ball):
    """A ball without inertia, but for rounding error, may move a rotor or what follows it."""
    rng = np.random.default_rng(2)
    point = dyn.spatial_inertia(1.0, np.zeros(3), np.zeros((3, 3)))
    robot = MultiDofModel(
        parents=(-1,), joints=(ball,), placements=[random_pose(rng)], inertias=[point]
    )
    q, tau = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    with pytest.raises(
        dyn.DynamicsError, match=r"q = \[0\.1 0\.2 0\.3\]: joint 'joint1' has no in.*'body1'"
    ):
        robot.forward_dynamics(q, 0 * q, tau)
    geared = replace(robot, reflected_inertia=np.full(3, 0.1))
    assert error(geared.forward_dynamics(q, 0 * q, tau), 10 * tau) < 1e-12
    gimbal = MultiDofModel(
        parents=(-1, 0), joints=(ball, dyn.revolute(joints.Z)), placements=[np.eye(4)] * 2,
        inertias=[np.zeros((6, 6)), random_inertia(rng)], reflected_inertia=[0, 0, 0.1, 0],
    )  # fmt: skip
    q, qd, tau = draw(4, 3)
    qdd = gimbal.forward_dynamics(q, qd, tau)
    assert error(gimbal.inverse_dynamics(q, qd, qdd).tau, tau) < 1e-12


def test_a_pendulum_with_joints_whose_motions_form_no_group():
    """A point mass on a homokinetic joint: the mass matrix is regular, that of the tree is not."""
    point = dyn.spatial_inertia(1.0, (0, 0, -1), np.zeros((3, 3)))
    bent = ExponentialJoint(joints.universal((0, 0, 0), (1, 0, 0), (0, 1, 0)))
    robot = MultiDofModel(parents=(-1,), joints=(bent,), placements=[np.eye(4)], inertias=[point])
    q, qd, tau = 0.3 * draw(2, 3)
    qdd = robot.forward_dynamics(q, qd, tau)
    assert error(robot.inverse_dynamics(q, qd, qdd).tau, tau) < 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_rounding_error_does_not_count_as_inertia(seed):
    """In other frames, the inertia of a point mass on the axis is not exactly zero."""
    tree = random_tree(3, seed, kinds=("revolute",), branching=0.0)
    e, v = tree.screws[2, :3], tree.screws[2, 3:]
    on_axis = dyn.se3.inverse(tree.poses[2]) @ np.r_[np.cross(e, v) + 0.37 * e, 1]
    point = dyn.spatial_inertia(1.0, on_axis[:3], np.zeros((3, 3)))
    robot = dyn.model_from_screws(
        tree.parents, tree.screws, tree.poses, [*tree.inertias[:2], point]
    )
    q, qd, tau = draw(3, 3)
    with pytest.raises(dyn.DynamicsError, match=r"'joint3'.*no inertia.*'body3'"):
        MultiDofModel.from_model(robot).forward_dynamics(q, qd, tau)
    with pytest.raises(dyn.DynamicsError, match=r"'joint3' has no inertia.*'body3'"):
        dyn.forward_dynamics(robot, q, qd, tau)
    by_gravity = dyn.identification.ParameterDependence.on_gravity()
    with pytest.raises(dyn.DynamicsError, match=r"'joint3' has no inertia.*'body3'"):
        dyn.identification.forward_dynamics_sensitivity(robot, by_gravity, q, qd, tau)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"x": ("base_1", "base_3")}, "'base_3' must directly follow 'base_1'"),
        ({"x": ("base_3", "shoulder_1")}, "a massless body"),
        ({"x": ("base_1", "base_2"), "y": ("base_2", "base_3")}, "group 'y'.*another group"),
        ({"x": ("nobody",)}, "no joint 'nobody'"),
        ({"x": "base_1"}, "group 'x': expected a sequence"),
    ],
)
def test_invalid_groups(groups, message):
    with pytest.raises(dyn.DynamicsError, match=message):
        MultiDofModel.from_model(with_multidof(), groups)


def test_invalid_robots_are_rejected():
    robot = grown(1)
    for changes, message in (
        ({"parents": (-1, 1, 0, 2, 1)}, "joint 'joint2': parent 1"),
        ({"joints": robot.joints[:4]}, "got 4 joints and 5 parents"),
        ({"joints": (np.zeros(6), *robot.joints[1:])}, "joint 'joint1'.*one to six nonzero screws"),
        ({"joint_names": ("a",) * 5}, "duplicate joint name 'a'"),
        ({"coordinate_names": ("a", "b")}, "coordinate names: expected 12, got 2"),
        ({"placements": np.ones((5, 4, 4))}, "not a rotation"),
        ({"inertias": -robot.inertias}, "body 'body1'.*mass"),
        ({"gravity": (0, 0)}, "gravity: expected shape"),
        ({"reflected_inertia": -np.ones(12)}, "coordinate 'joint1_1'"),
        ({"coordinate_names": ("joint3_held_2", *"abcdefghijk")}, "'joint3_held_2' is reserved"),
    ):
        with pytest.raises(dyn.ModelError, match=message):
            replace(robot, **changes)


def test_rotors_that_the_tree_cannot_have_are_named():
    body = random_inertia(np.random.default_rng(1))
    robot = MultiDofModel(
        parents=(-1, 0), joints=(dyn.revolute(joints.Z), BodyFixedJoint.spherical()),
        placements=[np.eye(4)] * 2, inertias=[body] * 2, reflected_inertia=[0.1, 0, 0.2, 0],
    )  # fmt: skip
    for use in (lambda: robot.tree, lambda: robot.held_joints, lambda: robot.in_tree(np.ones(4))):
        with pytest.raises(dyn.ModelError, match=r"'joint2'.*reflected inertia \[0\.  0\.2 0\. \]"):
            use()
    lighter = replace(robot, reflected_inertia=[0.1, 0, 0, 0])
    q = np.full(4, 0.3)
    rotor = robot.mass_matrix(q) - lighter.mass_matrix(q)
    np.testing.assert_allclose(rotor, np.diag([0, 0, 0.2, 0]), atol=1e-15)
    assert lighter.tree.reflected_inertia[0] == 0.1


def test_wrong_arguments_are_named():
    robot, zero = grown(1), np.zeros(12)
    inverse = partial(robot.inverse_dynamics, zero, zero)
    hybrid = partial(robot.hybrid_dynamics, zero, zero)
    at_3 = np.where(np.arange(12) == 3, np.nan, 0)
    assert_rejected(
        (lambda: robot.inverse_dynamics(at_3, zero, zero), "q[3] (joint 'joint2_1') is nan"),
        (lambda: inverse(None), "inverse dynamics needs qdd"),
        (lambda: inverse(zero, None, zero), "qdddd was given without qddd"),
        (lambda: inverse(zero, wrenches={"hand": zero[:6]}), "body 'hand'; expected one of body1"),
        (lambda: hybrid(prescribed=["hip"], qdd=zero, tau=zero), "'hip'; expected one of joint1"),
        (lambda: robot.forward_dynamics(zero, zero, zero[:1]), "tau: expected shape (..., 12)"),
        (lambda: hybrid(prescribed=[1], qdd=zero, tau=zero * np.nan), "tau[0] is nan"),
        (
            lambda: robot.forward_dynamics(zero + np.zeros((4, 1)), zero, zero + np.zeros((3, 1))),
            "batch dimensions do not broadcast: states (4,), qdd (), tau (3,)",
        ),
    )


def test_batches_broadcast_and_nothing_is_written_to():
    robot = grown(3)
    q, qd, qdd = draw(robot.n, 3, 2, 3)
    W = np.random.default_rng(1).normal(size=(3, 6, 6))[:, None, :3]
    given = [x.copy() for x in (q, qd, qdd, W)]
    tau = robot.inverse_dynamics(q[:, :1], qd, qdd[0], wrenches={"body2": W[:, 0][None]}).tau
    assert tau.shape == (2, 3, robot.n)
    alone = robot.inverse_dynamics(q[1, 0], qd[1, 2], qdd[0, 2], wrenches={"body2": W[2, 0]}).tau
    np.testing.assert_allclose(tau[1, 2], alone, atol=1e-12)
    robot.hybrid_dynamics(q, qd, prescribed=[0], qdd=qdd, tau=qdd)
    for before, after in zip(given, (q, qd, qdd, W), strict=True):
        np.testing.assert_array_equal(before, after)
    assert robot.forward_dynamics(q[:0], qd[:0], qdd[:0]).shape == (0, 3, robot.n)


def test_a_model_is_immutable():
    robot = grown(3)
    assert repr(robot) == "<MultiDofModel 'robot': 5 joints, 12 coordinates>"
    assert not robot.inertias.flags.writeable
    assert isinstance(robot.links, tuple)
    assert not robot.links[2].brackets.flags.writeable
    with pytest.raises(AttributeError):
        robot.gravity = (0, 0, 0)
