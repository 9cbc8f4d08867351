# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Mechanisms in the control cycle against 40 digits, NumPy, Pinocchio and laws of mechanics."""

import tracemalloc

import numpy as np
import pinocchio as pin
import pytest

from mechanisms import (
    FOUR_BAR,
    JOINTS,
    MOTORISED,
    Z,
    closed_tree,
    delta,
    five_bar,
    four_bar,
    loop_in_tree,
    pinocchio_acceleration,
    reference_motion,
    reference_torques,
)
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory
from reference import error
from robots import random_base, random_inertia

Inverse = dyn.mechanisms.ConstrainedInverseDynamicsSolver
Forward = dyn.mechanisms.ConstrainedForwardDynamicsSolver

MECHANISMS = MOTORISED | {
    "delta, 5 motors": delta().with_motors("motor0", "motor1", "motor2", "elbow0_1", "wrist0_2"),
}


def solver_for(name, kind=Inverse):
    mechanism = MECHANISMS[name]
    return kind(mechanism.system, mechanism.q, independent=mechanism.independent)


def case(name, seed=1):
    """The mechanism, its solver, a motion, and the rows of the independent joints."""
    mechanism = MECHANISMS[name]
    motion = mechanism.motion(seed)
    rows = [row[mechanism.system.indices(mechanism.independent)] for row in motion]
    return mechanism.system, solver_for(name), motion, rows


@pytest.mark.parametrize("name", MECHANISMS)
def test_torques_and_rates_with_40_digits(name):
    mechanism, solver = MECHANISMS[name], solver_for(name)
    system = mechanism.system
    rates = np.random.default_rng(1).uniform(-1, 1, (4, system.n))
    exact = reference_motion(mechanism, mechanism.q, rates)
    passive = np.random.default_rng(2).normal(size=(3, len(system.passive)))
    solver.passive_torque[:, system.passive_indices] = passive
    found = solver(*exact.astype(float)[:, system.indices(mechanism.independent)])
    expected = reference_torques(mechanism, exact, "minimum_torque", passive)
    for k in range(3):
        assert error(found[k], expected[k].astype(float)) < 1e-12


@pytest.mark.parametrize("name", MECHANISMS)
def test_loop_wrenches_with_rates(name):
    """The wrenches, and their rates as slopes along the motion."""
    system, solver, motion, rows = case(name)
    solver(*rows)
    found = solver.loop_wrenches
    choice = "minimum_torque"
    expected = dyn.mechanisms.constrained_inverse_dynamics(system, *motion, choice=choice)
    for loop, W in expected.loop_wrenches.items():
        np.testing.assert_allclose(found[loop][0], W, atol=1e-11 * (1 + abs(W).max()))
    taylor = np.array(rows) / np.array([[1], [1], [2], [6], [24]])
    h, around = 1e-3, []
    for t in (-h, h):
        at = [sum(taylor[k] * np.prod(range(k - j + 1, k + 1)) * t ** (k - j)
                  for k in range(j, 5)) for j in range(5)]  # fmt: skip
        solver(*at)
        around.append(solver.loop_wrenches)
    for loop, W in found.items():
        for k in (0, 1):
            slope = (around[1][loop][k] - around[0][loop][k]) / (2 * h)
            np.testing.assert_allclose(W[k + 1], slope, atol=1e-4 * (1 + abs(W).max()))


@pytest.mark.parametrize("name", MECHANISMS)
def test_forward_dynamics_inverts_inverse_dynamics(name):
    system, solver, motion, rows = case(name)
    forward = solver_for(name, Forward)
    tau = solver(*rows)[0]
    np.testing.assert_allclose(forward(*rows[:2], tau), rows[2], atol=1e-11)
    assert error(forward.motion[2], motion[2]) < 1e-11
    s1, s2 = rows[1:3]
    reduced = forward.mass_matrix @ s2 + forward.bias
    full = np.zeros(system.n)
    full[system.actuated_indices] = tau
    assert error(reduced, forward.reduction.T @ full) < 1e-11
    energy = dyn.rigid.kinetic_energy(system.tree, *motion[:2])
    assert s1 @ forward.mass_matrix @ s1 / 2 == pytest.approx(energy, rel=1e-12)


@pytest.mark.parametrize("name", MECHANISMS)
def test_loop_wrenches_of_forward_dynamics(name):
    system, solver, motion, rows = case(name)
    forward = solver_for(name, Forward)
    forward(*rows[:2], solver(*rows)[0])
    full = np.zeros(system.n)
    full[system.actuated_indices] = solver.result[0]
    expected = dyn.mechanisms.constrained_forward_dynamics(system, *motion[:2], full)
    for loop, W in expected.loop_wrenches.items():
        found = forward.loop_wrenches[loop]
        np.testing.assert_allclose(found[0], W, atol=1e-10 * (1 + abs(W).max()))
        assert not found[1:].any()


@pytest.mark.parametrize("free", [(), dyn.spherical()], ids=["weld", "ball"])
@pytest.mark.parametrize("seed", range(3))
def test_pinocchio_agrees_on_forward_dynamics(seed, free):
    system, q, qd, tau = closed_tree(seed, free)
    solver = Forward(system, q)
    chosen = system.indices(solver.independent)
    found = solver(q[chosen], qd[chosen], tau)
    assert error(found, pinocchio_acceleration(system, q, qd, tau)[chosen]) < 1e-11


def test_springs_act_as_joint_torques_in_pinocchio():
    system, q, qd, tau = closed_tree(2, ())
    motors, count = system.tree.joint_names[:6], len(system.tree.joint_names) - 6
    K, rest, D = np.random.default_rng(5).uniform(1.0, 5.0, (3, count))
    springs = dict(
        zip(
            system.tree.joint_names[6:],
            map(dyn.mechanisms.PassiveSpring, K, rest, D),
            strict=True,
        )
    )
    sprung = dyn.mechanisms.ConstrainedModel(
        system.tree, system.constraints, motors, springs=springs
    )
    solver = Forward(sprung, q)
    chosen = sprung.indices(solver.independent)
    found = solver(q[chosen], qd[chosen], tau[:6])
    tau[6:] = -K * (q[6:] - rest) - D * qd[6:]
    assert error(found, pinocchio_acceleration(system, q, qd, tau)[chosen]) < 1e-11


PITCH = 0.01


def screw(motor):
    """A spindle, whose nut slides in a guide and pushes a carriage."""
    tree = dyn.model_from_screws(
        (-1, -1), [dyn.revolute(Z), dyn.prismatic(Z)], [np.eye(4)] * 2,
        [random_inertia(np.random.default_rng(k)) for k in range(2)],
        joint_names=("spindle", "nut"),
    )  # fmt: skip
    free = dyn.helical(Z, (0, 0, 0), -PITCH)
    thread = dyn.mechanisms.LoopClosure("thread", "body1", "body2", free)
    return dyn.mechanisms.ConstrainedModel(tree, [thread], [motor])


def test_a_screw_closes_a_loop_over_several_turns():
    system = screw("spindle")
    solver = Inverse(system, np.zeros(2))
    for angle in np.arange(0.0, 20.0, 0.05):
        found = np.array(solver(*np.array([[angle], [3.0], [-2.0], [5.0], [7.0]])))
        np.testing.assert_allclose(solver.motion[:, 1], PITCH * solver.motion[:, 0], atol=1e-12)
    spindle, nut = np.array(dyn.inverse_dynamics(system.tree, *solver.motion)).T
    assert error(found[:, 0], spindle + PITCH * nut) < 1e-12


def test_a_nut_turns_its_spindle_as_often_as_it_must():
    """Each half turn closes the thread as well; far poses are followed over all turns between."""
    model = dyn.mechanisms.closed_chain(screw("nut"), np.zeros(2))
    for nut in (0.0314, 0.0628, 0.2, 0.5):
        np.testing.assert_allclose(model.configuration([nut])[0], nut / PITCH, rtol=1e-9)


def test_positions_beyond_all_reach_are_refused():
    mechanism = four_bar()
    solver = Inverse(mechanism.system, mechanism.q, independent=mechanism.independent)
    for far in (1001.0, -1e308):
        with pytest.raises(dyn.DynamicsError, match=r"loop 'pin': joint 'crank' is .* from the as"):
            solver([far], [0.0], [0.0], [0.0], [0.0])


def test_short_levers_may_turn_far_in_a_stride():
    """A cylinder of which a stroke of 0.1 m turns a lever of 50 mm by more than two radians."""
    lever, ground = 0.05, np.array([0.1, 0.0, 0.0])
    end = np.array([0.0, lever, 0.0])
    tree = dyn.model_from_screws(
        (-1, 0, -1), [dyn.revolute(Z, ground), dyn.prismatic(end - ground), dyn.revolute(Z)],
        [np.eye(4)] * 3, [random_inertia(np.random.default_rng(k)) for k in range(3)],
        joint_names=("cylinder", "rod", "lever"),
    )  # fmt: skip
    pin = dyn.mechanisms.LoopClosure.at(tree, "pin", "body2", "body3", dyn.revolute(Z), point=end)
    system = dyn.mechanisms.ConstrainedModel(tree, [pin], ["rod"])
    model = dyn.mechanisms.closed_chain(system, np.zeros(3))
    for rod in np.linspace(-0.05, 0.035, 7):
        length = np.hypot(0.1, lever) + rod
        cosine = (0.1**2 + lever**2 - length**2) / (2 * 0.1 * lever)
        assert model.configuration([rod])[2] == pytest.approx(np.arccos(cosine) - np.pi / 2)


@pytest.mark.parametrize("joint", [name for name in JOINTS if name != "two parallel hinges"])
def test_every_cut_joint(joint):
    system, q = loop_in_tree(JOINTS[joint])
    solver = Inverse(system, q)
    chosen = system.indices(solver.independent)
    rates = np.random.default_rng(1).uniform(-1, 1, (5, system.n))
    rates[0] = q
    motion = dyn.mechanisms.consistent_motion(system, *rates, fixed=solver.independent)
    expected = dyn.mechanisms.constrained_inverse_dynamics(system, *motion, choice="minimum_torque")
    for k, found in enumerate(solver(*(row[chosen] for row in motion))):
        assert error(found, expected[k]) < 1e-11


AXIS = (0.3, -0.5, 0.8)
CENTRED = {
    "weld": (), "hinge": dyn.revolute(AXIS), "slide": dyn.prismatic(AXIS), "ball": dyn.spherical(),
    "sleeve": dyn.cylindrical(AXIS), "plane": dyn.planar(AXIS),
    "cross": dyn.universal((0, 0, 0), AXIS, (1, 0, 0)),
}  # fmt: skip


@pytest.mark.parametrize("joint", CENTRED)
def test_the_least_forces(joint):
    """With one motor, or two, more than degrees of freedom. In NumPy, they are about the origin of
    the first frame, which is the centre of the joint; that of a slide moves away from it."""
    closed, q = loop_in_tree(CENTRED[joint])
    own = Inverse(closed, q).independent
    further = [name for name in closed.tree.joint_names if name not in own]
    rates = np.random.default_rng(1).uniform(-1, 1, (5, closed.n))
    rates[0] = q
    motion = dyn.mechanisms.consistent_motion(closed, *rates, fixed=own)
    for more in (1, 2):
        system = dyn.mechanisms.ConstrainedModel(
            closed.tree, closed.constraints, [*own, *further[:more]]
        )
        expected = dyn.mechanisms.constrained_inverse_dynamics(
            system, *motion, choice="minimum_force"
        )
        for specialise in (False, True):
            solver = Inverse(
                system, q, independent=own, choice="minimum_force", specialise=specialise
            )
            assert not specialise or solver.wait() == "specialised"
            rows = [row[system.indices(own)] for row in motion]
            found = solver(*rows)
            assert solver._is_specialised() == specialise
            for k in range(1 if joint in ("slide", "sleeve", "plane") else 3):
                assert error(found[k], expected[k][system.actuated_indices]) < 1e-10
    with pytest.raises(dyn.InputError, match="choice must be"):
        Inverse(system, q, choice="unique")


@pytest.mark.parametrize("name", ["five-bar", "cut at the cross", "delta"])
def test_moving_base_and_applied_wrenches(name):
    system, solver, motion, rows = case(name)
    rng = np.random.default_rng(5)
    base = random_base(rng)
    body = system.tree.body_names[-1]
    W = rng.normal(size=(3, 6))
    solver.applied_wrenches[-1] = W
    solver.set_base(base)
    found = solver(*rows)
    expected = dyn.mechanisms.constrained_inverse_dynamics(
        system, *motion, wrenches={body: W}, base=base
    )
    for k in range(3):
        assert error(found[k], expected[k][system.actuated_indices]) < 1e-11
    for loop, wrench in expected.loop_wrenches.items():
        assert error(solver.loop_wrenches[loop][0], wrench) < 1e-10


def test_a_leg_with_a_four_bar_ankle_under_a_moving_pelvis_against_pinocchio():
    """Torques of the motors and forces of the pin at the heel move the open tree as it moves."""
    files = share_directory() / "config" / "mechanisms"
    tree = dyn.load_urdf(files / "leg.urdf")
    system = dyn.mechanisms.load_mechanism(files / "leg.yaml", tree)
    solver = Inverse(system, np.zeros(5), independent=system.actuated)
    rng = np.random.default_rng(3)
    base, rows = random_base(rng), rng.normal(size=(5, 3))
    rows[0] = [0.4, -0.9, 0.3]
    solver.set_base(base)
    found = solver(*rows)[0]

    other = pin.buildModelFromUrdf(str(files / "leg.urdf"), pin.JointModelFreeFlyer())
    order = [tree.joint_index(name) for name in list(other.names)[2:]]
    q, qd, qdd = solver.motion[:3, order]
    V, A = dyn.convert_twist(base.pose, [base.twist, base.acceleration], "spatial", "body")
    x = np.r_[base.pose[:3, 3], pin.Quaternion(base.pose[:3, :3]).coeffs(), q]
    data = other.createData()
    torque = pin.rnea(other, data, x, np.r_[np.roll(V, 3), qd], np.r_[np.roll(A, 3), qdd])[6:]
    pin.computeJointJacobians(other, data, x)
    (heel,) = system.constraints
    J = np.zeros((3, tree.n))  # velocity of the pin on the foot, relative to that on the rod
    for body, pose, sign in (
        (heel.first, heel.first_pose, -1),
        (heel.second, heel.second_pose, 1),
    ):
        k = other.frames[other.getFrameId(body)].parentJoint
        own = pin.getJointJacobian(other, data, k, pin.LOCAL_WORLD_ALIGNED)[:, 6:]
        J += sign * (own[:3] - pin.skew(data.oMi[k].rotation @ pose[:3, 3]) @ own[3:])
    assert np.abs(J @ qd).max() < 1e-12
    motors = np.eye(tree.n)[order][:, system.actuated_indices]
    solution, *_ = np.linalg.lstsq(np.hstack([motors, J.T]), torque, rcond=1e-9)
    assert error(np.hstack([motors, J.T]) @ solution, torque) < 1e-12
    assert error(found, solution[:3]) < 1e-11


def test_coupled_joints_in_a_loop():
    """The left elbow follows the right one: a mimic joint on the path of a loop."""
    mechanism = five_bar("a")
    tree = mechanism.system.tree.with_couplings({"c": ({"b": 0.6}, -0.9)})
    weld = mechanism.system.constraints
    system = dyn.mechanisms.ConstrainedModel(tree, weld, ("a",))
    start = mechanism.start[[0, 1, 3, 4]]
    q = dyn.mechanisms.assemble(system, start)
    solver = Inverse(system, q)
    rates = np.random.default_rng(3).uniform(-1, 1, (5, 4))
    rates[0] = q
    motion = dyn.mechanisms.consistent_motion(system, *rates, fixed=("a",))
    expected = dyn.mechanisms.constrained_inverse_dynamics(system, *motion)
    found = solver(*(row[:1] for row in motion))
    for k in range(3):
        assert error(found[k], expected[k][:1]) < 1e-11
    np.testing.assert_allclose(solver.motion, motion, atol=1e-11)


def test_independent_joints_need_no_motors():
    """The delta robot by two elbows and a motor: motion and torques are the same."""
    mechanism = MECHANISMS["delta"]
    system, motion = mechanism.system, mechanism.motion(1)
    plain = case("delta")[1]
    torques = plain(*(row[system.indices(mechanism.independent)] for row in motion))
    others = ("elbow0_1", "elbow0_2", "motor2")
    solver = Inverse(system, motion[0], independent=others)
    found = solver(*(row[system.indices(others)] for row in motion))
    for k in range(3):
        assert error(found[k], torques[k]) < 1e-11


def circle(t, radius=0.2, rate=2 * np.pi):
    """Two joints of the five-bar on a circle, with four derivatives, (5, count, 2)."""
    order = np.arange(5)[:, None]
    angle = rate * t + order * np.pi / 2
    return radius * rate ** order[..., None] * np.stack([np.sin(angle), np.cos(angle)], axis=-1)


def test_ten_thousand_cycles_without_drift():
    """Ten turns at 1 kHz: the loop stays closed, and every turn repeats the first one."""
    mechanism = MECHANISMS["five-bar"]
    solver = solver_for("five-bar")
    rows = circle(np.arange(10_000) / 1000.0)
    rows[0] += mechanism.q[mechanism.system.indices(mechanism.independent)] - rows[0, 0]
    motion, torques = solver.batch(*rows)
    residual = dyn.mechanisms.constraint_residual(mechanism.system, motion[0, ::97])
    assert abs(residual).max() < 2e-13
    for row in (*motion, *torques):
        turns = row.reshape(10, 1000, -1)
        assert abs(turns - turns[0]).max() < 1e-11 * abs(row).max()
    expected = dyn.mechanisms.constrained_inverse_dynamics(
        mechanism.system, *motion[:, ::97], choice="unique"
    )
    for k in range(3):
        assert error(torques[k][::97], expected[k][:, [0, 4]]) < 1e-11


@pytest.mark.parametrize("speed", [1e-60, 1e-20, 1e-9])
def test_a_motion_that_just_begins_does_not_mislead_the_prediction(speed):
    """The time of a step cannot be told from a speed that has not built up yet."""
    solver, other = solver_for("five-bar"), solver_for("five-bar")
    q, one, still = solver.state[0].copy(), np.ones(2), np.zeros(2)
    solver(q, speed * one, one, still, still)
    for row, expected in zip(
        solver(q + 1e-5, one, one, one, one), other(q + 1e-5, one, one, one, one), strict=True
    ):
        assert error(row, expected) < 1e-12


def test_a_call_per_cycle_is_the_batch():
    mechanism = MECHANISMS["five-bar"]
    rows = circle(np.arange(50) / 1000.0)
    rows[0] += mechanism.q[mechanism.system.indices(mechanism.independent)] - rows[0, 0]
    motion, torques = solver_for("five-bar").batch(*rows)
    solver = solver_for("five-bar")
    for k in range(50):
        found = solver(*rows[:, k])
        np.testing.assert_array_equal(found, [row[k] for row in torques])
        np.testing.assert_array_equal(solver.motion, motion[:, k])


def test_elastic_joints_in_a_loop():
    """The motors of a five-bar with springs: the flat map of (24) on the buffers of the solver."""
    _, solver, _, rows = case("five-bar")
    springs = (
        dyn.elastic.SeriesElastic(dyn.elastic.Motor(0.05), dyn.elastic.LinearSpring(300.0)),
    ) * 2
    feedforward = dyn.elastic.MotorFeedforward(
        dyn.elastic.Actuators(solver.actuated, springs), solver.state, solver.result
    )
    tau, tau_dot, tau_ddot = solver(*rows)
    feedforward.update()
    theta, theta_dot, _, torque = feedforward.result
    np.testing.assert_allclose(theta, rows[0] + tau / 300.0, rtol=1e-13)
    np.testing.assert_allclose(theta_dot, rows[1] + tau_dot / 300.0, rtol=1e-13)
    np.testing.assert_allclose(torque, 0.05 * (rows[2] + tau_ddot / 300.0) + tau, rtol=1e-13)


# failures


def test_a_singular_pose_names_loop_and_joint():
    """A four-bar whose crank and coupler are in line: the rocker, as the input, is at an end."""
    crank, coupler, rocker, ground = FOUR_BAR
    mechanism = four_bar()
    system = mechanism.with_motors("rocker").system
    solver = Inverse(system, mechanism.q)
    reach = crank + coupler
    angle = np.arccos((ground**2 + rocker**2 - reach**2) / (2 * ground * rocker))
    end, (start,) = np.pi - angle, solver.state[0].copy()
    margins = []
    for distance in np.geomspace(start - end, 1e-6, 200):
        solver([end + distance], [0.0], [0.0], [0.0], [0.0])
        margins.append(solver.margin)
    assert margins[-1] < 0.02 * margins[0]
    with pytest.raises(
        dyn.DynamicsError, match=r"robot 'four_bar': .*'pin'.* nearly singular"
    ) as error:
        solver([end - 0.01], [0.0], [0.0], [0.0], [0.0])
    assert f"(rocker = {end + 1e-6:.4g})" in str(error.value)
    assert "loop" in solver.problem()
    solver.state[:] = 0.0
    solver.state[0] = end + 1e-6
    assert solver.update() == 1
    assert solver.problem() == ""


def test_an_exactly_singular_pose():
    """Two equal bars that are folded: the slider no longer determines their angle."""
    tree = dyn.model_from_screws(
        (-1, 0, -1), [dyn.revolute((0, 0, 1)), dyn.revolute((0, 0, 1), (1, 0, 0)),
                      dyn.prismatic((1, 0, 0))],
        [np.eye(4)] * 3, [dyn.spatial_inertia(1.0, (0.5, 0, 0), np.eye(3))] * 3,
        joint_names=("crank", "rod", "slider"), body_names=("bar", "link", "block"), name="slider",
    )  # fmt: skip
    pin = dyn.mechanisms.LoopClosure.at(
        tree, "wrist", "link", "block", dyn.revolute((0, 0, 1)), point=(2, 0, 0)
    )
    system = dyn.mechanisms.ConstrainedModel(tree, [pin], ("slider",))
    solver = Inverse(system, dyn.mechanisms.assemble(system, [0.5, -1.0, -0.2]))
    solver.restart([1.5, -3.0, -1.9])  # almost folded
    for x in np.geomspace(-0.1, -1e-6, 50):
        solver([-2 - x], [0.0], [0.0], [0.0], [0.0])
    with pytest.raises(dyn.DynamicsError, match=r"'slider': .*loop 'wrist'"):
        solver([-2.0], [0.0], [0.0], [0.0], [0.0])


@pytest.mark.parametrize("row", range(5))
def test_numbers_that_are_not_finite_change_nothing(row):
    _, solver, _, rows = case("five-bar")
    before = solver.state.copy()
    rows = [r.copy() for r in rows]
    rows[row][1] = np.nan
    with pytest.raises(dyn.InputError, match="finite"):
        solver(*rows)
    np.testing.assert_array_equal(solver.state, before)
    solver.state[row] = np.nan  # `update` checks nothing
    failed = not solver.update()
    assert failed == (row == 0)


def test_wrong_descriptions():
    mechanism = MECHANISMS["five-bar"]
    system, q = mechanism.system, mechanism.q
    with pytest.raises(dyn.InputError, match=r"2 degrees .*got 1 joints: a; .*move: list one"):
        Inverse(system, q, independent=("a",))
    with pytest.raises(dyn.InputError, match="no joint 'z'"):
        Inverse(system, q, independent=("a", "z"))
    with pytest.raises(dyn.ModelError, match=r"2 degrees of freedom, but motors on only 1 joints"):
        Inverse(mechanism.with_motors("a").system, q)
    with pytest.raises(dyn.InputError, match=r"q: expected"):
        Inverse(system, q[:2])
    with pytest.raises(dyn.DynamicsError, match="no configuration found"):
        Inverse(system, [np.pi, 0, 0, 0, np.pi], independent=("a", "e"))
    gear = dyn.mechanisms.ConstraintMatrix("gear", 1, lambda q: [[1] * 5], lambda q, v: [[0] * 5])
    both = dyn.mechanisms.ConstrainedModel(system.tree, [*system.constraints, gear], ("a",))
    with pytest.raises(dyn.ModelError, match="constraint 'gear' is a matrix; only loops"):
        Inverse(both, q)
    solver = Inverse(system, q)
    with pytest.raises(dyn.InputError, match=r"expected q ... qdddd of shape \(count, 2\)"):
        solver.batch(*solver.state)
    far = solver.state[:, None].repeat(3, axis=1)
    far[0, 1] += 20.0
    far[0, 2] = [0.0, 0.0]
    with pytest.raises(dyn.DynamicsError, match=r"state [12]: loop 'weld'"):
        solver.batch(*far)
    with pytest.raises(AttributeError, match="state is fixed"):
        solver.state = far[:, 0]


def test_restart_changes_the_assembly_mode():
    mechanism = MECHANISMS["four-bar"]
    solver = solver_for("four-bar")
    mirrored = solver.restart([mechanism.q[0], -3.0, -2.5])
    assert abs(mirrored - mechanism.q).max() > 0.5
    assert solver.update() == 1
    np.testing.assert_allclose(solver.motion[0], mirrored, atol=1e-12)


def test_no_memory_is_allocated():
    solver = solver_for("five-bar")
    solver.update()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(100):
        solver.update()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 100
