# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Balls inside loops turn as far as they like, against the same mechanisms cut at the ball."""

from dataclasses import replace
from math import factorial

import numpy as np
import pytest

from balls_in_loops import CRANK, X, Y, Z, closed, crank_rocker, turns
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import rigid, so3
from multibody_dynamics.dynamics.core import record_fields
from multibody_dynamics.dynamics.mechanisms import ball_charts, loop_memory
from multibody_dynamics.resources import share_directory
from reference import error


def rotation(h, psi, theta, phi, hand=1):
    return so3.exp(h * Y) @ so3.exp(psi * Z) @ so3.exp(theta * Y) @ so3.exp(hand * phi * X)


@pytest.mark.parametrize("hand", [1, -1])
@pytest.mark.parametrize("h", [0.0, np.pi / 2])
def test_the_other_chart_has_the_same_pose_far_from_its_own_singularity(h, hand):
    for psi, theta, phi in np.random.default_rng(1).uniform(-3.1, 3.1, (50, 3)):
        found = ball_charts.other_chart(h, psi, theta, phi, hand)
        assert found[0] == np.pi / 2 - h
        before = rotation(h, psi, theta, phi, hand)
        np.testing.assert_allclose(rotation(*found, hand), before, atol=1e-14)
        if abs(np.sin(theta)) > np.sin(ball_charts.TURN):
            assert abs(found[2]) < np.pi / 2 - ball_charts.TURN


@pytest.mark.parametrize("hand", [1, -1])
@pytest.mark.parametrize("psi", [0.0, 0.3, np.pi])
@pytest.mark.parametrize("theta", [0.9, 1.5, np.pi, -np.pi, 2.84, -4.0, 2.0 * np.pi])
def test_any_angle_is_brought_to_where_a_chart_suits_it(theta, psi, hand):
    q = np.array([0.1, 0.0, psi, theta, -0.4, 0.2])
    found = q.copy()
    ball_charts.renew_charts(found, np.array([[1, hand]]))
    assert abs(found[3]) <= ball_charts.TURN
    assert (found[1] == 0.0) == (abs(np.sin(theta)) < np.sin(ball_charts.TURN))
    np.testing.assert_allclose(rotation(*found[1:5], hand), rotation(*q[1:5], hand), atol=1e-14)


@pytest.mark.parametrize("pitch", [np.pi, 2.84])
def test_a_mechanism_may_be_assembled_with_its_pitch_at_half_a_turn(pitch):
    system, states = crank_rocker("universal"), turns(3)
    expected = closed(system)
    for psi in (np.pi, -np.pi):
        found = dyn.mechanisms.closed_chain(system, np.array([0.0, psi, pitch, psi, 0.0]))
        np.testing.assert_allclose(found.assembled, expected.assembled, atol=1e-12)
        for state in states:
            wanted = rigid.inverse_dynamics(expected, *state).tau
            np.testing.assert_allclose(rigid.inverse_dynamics(found, *state).tau, wanted, atol=1e-9)


@pytest.mark.parametrize("hand", [1, -1])
def test_positions_and_velocities_in_the_first_chart(hand):
    q, qd = np.random.default_rng(2).uniform(-1, 1, (2, 6))
    q[1] = np.pi / 2
    qd[1] = 0.0
    balls, first = np.array([[1, hand]]), np.zeros(1)
    found, rates = ball_charts.in_charts(q, qd[:, None], balls, first)
    assert found[1] == 0.0
    np.testing.assert_array_equal(found[[0, 5]], q[[0, 5]])
    np.testing.assert_allclose(rotation(*found[1:5], hand), rotation(*q[1:5], hand), atol=1e-14)
    h = 1e-5
    ahead, behind = (
        ball_charts.in_charts(q + s * qd, qd[:, None], balls, first)[0] for s in (h, -h)
    )
    np.testing.assert_allclose(rates[:, 0], (ahead - behind) / (2 * h), atol=1e-8)


@pytest.mark.parametrize("axes", [(Z, Y, X), (X, Y, Z)])
def test_torques_and_rates_through_full_turns_are_those_of_the_loop_cut_at_the_ball(axes):
    model = closed(crank_rocker("universal", axes))
    assert model.charts == ("psi_chart",)
    expected = closed(crank_rocker("spherical"))
    solver, reference = rigid.inverse_solver(model), rigid.inverse_solver(expected)
    charts = set()
    for state in turns(600):
        found = np.array(solver(*state))
        assert error(found, np.array(reference(*state))) < 1e-10
        charts.add(solver.motion[0, 1])
        poses = [
            rigid.frame_pose(each.tree, its.motion[0], body)
            for each, its, body in (
                (model, solver, "phi body"), (expected, reference, "rod body"),
            )
        ]  # fmt: skip
        np.testing.assert_allclose(*poses, atol=1e-12)
    assert charts == {0.0, np.pi / 2}
    np.testing.assert_array_equal(solver.motion[1:, 1], 0.0)


def test_forward_dynamics_momentum_and_derivatives_are_those_of_the_loop_cut_at_the_ball():
    model, expected = (closed(crank_rocker(cut)) for cut in ("universal", "spherical"))

    def momentum(model, q, qd):
        solver = rigid.momentum_solver(model)
        solver.state[:] = q, qd
        assert solver.update() == 1
        return solver.result

    for state in turns(7):
        found, wanted = (
            (
                rigid.forward_dynamics(each, *state[:2], state[2]),
                momentum(each, *state[:2]),
                *rigid.forward_dynamics_derivatives(each, *state[:2], state[2]),
                *rigid.inverse_dynamics_derivatives(each, *state[:3]),
            )
            for each in (model, expected)
        )
        for one, other in zip(found, wanted, strict=True):
            assert error(np.array(one), np.array(other)) < 1e-10


def test_code_for_one_robot_passes_to_other_charts():
    """The machine code, and the recorded function with the memory of a generated controller."""
    model = closed(crank_rocker("universal"))
    given = {"independent": model.joint_names, "specialise": True}
    solver = dyn.mechanisms.ConstrainedInverseDynamicsSolver(model.system, model.assembled, **given)
    assert solver.wait()
    reference = rigid.inverse_solver(model)
    program, balls = rigid.trace_gravity_forces(model), model.system.balls
    sizes = {"n": 1, "N": model.body_count, "closure": len(program.results["closure"])}
    memory = record_fields.zeros(loop_memory.LoopMemory, **sizes)
    rows, charts, taken = np.arange(len(model.equations) + 1) + 1, set(), 0
    tables = model.assembled, model.first_bodies, model.strides, rows, balls
    loop_memory.approach_loops(program, *tables, memory, np.zeros(1))
    for state in turns(600):
        assert error(np.array(solver(*state)), np.array(reference(*state))) < 1e-11
        taken += solver._is_specialised()
        charts.add(memory.last[1])
        found = program.evaluate(q=state[0], last=memory.last)
        assert loop_memory.take_closed(memory, found["motion"], found["closure"], balls)
        still = np.zeros(1)
        assert error(found["tau"], reference(state[0], still, still, still, still)[0]) < 1e-11
    assert taken > 580
    assert charts == {0.0, np.pi / 2}
    far = np.array([9.0])
    loop_memory.approach_loops(program, *tables, memory, far)
    found = program.evaluate(q=far, last=memory.last)
    assert loop_memory.take_closed(memory, found["motion"], found["closure"], balls)


def test_joints_behind_the_motors_have_the_angles_of_their_hinges():
    """In every pose of the crank, the angles are those of h = 0, and the velocities their rates."""
    model = closed(crank_rocker("universal"))
    assert model.dependent_joints == ("psi", "theta", "phi", "rocker")
    q, qd = np.array([0.4]), np.array([0.7])
    for crank in (0.4, 2.0, 3.5, 5.5):
        q[0] = crank
        position, velocity = model.dependent_motion(q, qd)
        hinges = rotation(0.0, *position[:3])
        at = rigid.frame_pose(model, q, "crank body"), rigid.frame_pose(model, q, "phi body")
        np.testing.assert_allclose(at[0][:3, :3] @ hinges, at[1][:3, :3], atol=1e-12)
        h = 1e-5
        ahead, behind = (model.dependent_motion(q + s * qd, qd)[0] for s in (h, -h))
        turned = np.angle(np.exp(1j * (ahead - behind)))
        np.testing.assert_allclose(turned / (2 * h), velocity, atol=1e-6)


@pytest.mark.parametrize("change", ["limits", "mass", "skew", "apart", "motor", "loop"])
def test_other_chains_are_no_balls(change):
    system = crank_rocker("universal")
    tree, ends, passive = system.tree, {3, 4}, system.passive
    assert ball_charts.find_balls(tree, passive, ends) == [1]
    screws, inertias, limits = tree.screws.copy(), tree.link_inertias.copy(), tree.limits
    if change == "limits":
        limits = limits._replace(upper=np.array([np.inf, np.inf, 1.0, np.inf, np.inf]))
    elif change == "mass":
        inertias[2] = dyn.spatial_inertia(0.1, np.zeros(3), 1e-3 * np.eye(3))
    elif change == "skew":
        screws[2] = dyn.revolute(Y + 0.1 * X, CRANK)
    elif change == "apart":
        screws[2] = dyn.revolute(Y, CRANK + 0.01 * X)
    elif change == "motor":
        passive = tuple(name for name in passive if name != "phi")
    else:
        ends = {1, 4}
    tree = replace(tree, screws=screws, link_inertias=inertias, limits=limits)
    assert not ball_charts.find_balls(tree, passive, ends)


def slope(function, h):
    """The derivative of a function at 0, to fourth order in h."""
    a, b, c, d = (function(k * h) for k in (-2, -1, 1, 2))
    return (a - 8 * b + 8 * c - d) / (12 * h)


def test_torques_of_the_ankle_by_differences_of_its_momentum():
    """Its rods are at right angles to their cranks, where yaw, pitch and roll of a ball are
    singular. Lagrange's equations give Q from energies; Q' and Q'' are derivatives by time."""
    files = share_directory() / "config" / "mechanisms"
    model = dyn.mechanisms.load_robot(files / "ankle.urdf", files / "ankle.yaml")
    assert len(model.charts) == 2
    np.testing.assert_allclose(
        model.dependent_motion(np.zeros(2), np.zeros(2))[0][[3, 6]], np.pi / 2
    )
    rates = np.random.default_rng(4).uniform(-1, 1, (5, 2))

    def at(t):
        return [
            sum(rates[j] * t ** (j - k) / factorial(j - k) for j in range(k, 5)) for k in range(5)
        ]

    def lagrangian(q, qd):
        return rigid.kinetic_energy(model, q, qd) - rigid.potential_energy(model, q)

    def torque(t):
        def momentum(s):
            q, qd, *_ = at(t + s)
            return rigid.mass_matrix(model, q) @ qd

        q, qd, *_ = at(t)
        force = [slope(lambda s, e=e: lagrangian(q + s * e, qd), 1e-3) for e in np.eye(2)]
        return slope(momentum, 1e-3) - force

    found = rigid.inverse_dynamics(model, *rates)
    assert error(found.tau, torque(0.0)) < 1e-9
    assert error(found.tau_dot, slope(torque, 1e-2)) < 1e-6
    rate = slope(lambda t: rigid.inverse_dynamics(model, *at(t)).tau_dot, 1e-3)
    assert error(found.tau_ddot, rate) < 1e-8


@pytest.mark.parametrize("pitch", [1.0, 2.0, np.pi])
def test_the_ankle_is_assembled_from_afar_where_its_first_charts_are_singular(pitch):
    """Newton's method begins in charts that suit the pose given, here with the rods backwards, and
    ends where the rods are at right angles to their cranks."""
    files = share_directory() / "config" / "mechanisms"
    tree = dyn.load_urdf(files / "ankle.urdf")
    system = dyn.mechanisms.load_mechanism(files / "ankle.yaml", tree)
    q = np.zeros(tree.n)
    q[[tree.joint_index(f"{side}_ball_pitch") for side in ("left", "right")]] = pitch
    model = dyn.mechanisms.closed_chain(system, q)
    np.testing.assert_allclose(model.tree_motion(np.zeros(2))[0][[0, 1]], 0.0, atol=1e-9)
    found = model.dependent_motion(np.zeros(2), np.zeros(2))[0]
    np.testing.assert_allclose(found[[3, 6]], np.pi / 2, atol=1e-7)


def test_a_rod_that_spins_between_two_balls_is_named():
    system = crank_rocker("universal")
    (loop,) = system.constraints
    ball = replace(loop, free=dyn.spherical())
    with pytest.raises(dyn.InputError, match="psi, theta, phi can still move: a rod between two"):
        closed(replace(system, constraints=[ball]))


def test_a_motor_that_is_missing_is_not_the_spin_of_a_rod():
    model = closed(crank_rocker("universal"))
    names = r"crank, psi, theta, phi, rocker can still move: list one of them as `actuated`"
    with pytest.raises(dyn.InputError, match=names):
        dyn.mechanisms.ConstrainedInverseDynamicsSolver(
            model.system, model.assembled, independent=()
        )


@pytest.mark.parametrize("specialise", [False, True])
def test_torques_of_more_motors_than_degrees_of_freedom(specialise):
    """The least torques are those of the loop cut at the ball, in both charts. The least forces
    depend on where it is cut, and are those of the same tree without charts."""
    system = replace(crank_rocker("universal"), actuated=("crank", "rocker"))
    spherical = replace(crank_rocker("spherical"), actuated=("crank", "rocker"))

    def solver(system, q, **given):
        return dyn.mechanisms.ConstrainedInverseDynamicsSolver(
            system, q, independent=["crank"], specialise=specialise, **given
        )

    model = closed(crank_rocker("universal"))
    own = replace(model.system, actuated=system.actuated)
    torques, reference = solver(own, model.assembled), solver(spherical, np.zeros(spherical.n))
    for each in (torques, reference):
        assert not specialise or each.wait() == "specialised"
    if specialise:
        program = dyn.mechanisms.trace_constrained_inverse_dynamics(torques)
        assert torques._closure.size == len(program.results["closure"])
    charts = set()
    for state in turns(600):
        assert error(np.array(torques(*state)), np.array(reference(*state))) < 1e-10
        charts.add(torques.motion[0, 1])
    assert charts == {0.0, np.pi / 2}
    forces = solver(own, model.assembled, choice="minimum_force")
    rates = np.random.default_rng(1).uniform(-1, 1, (5, system.n))
    rates[0] = 0.0
    motion = dyn.mechanisms.consistent_motion(system, *rates, fixed=["crank"])
    expected = dyn.mechanisms.constrained_inverse_dynamics(system, *motion, choice="minimum_force")
    found = forces(*(row[:1] for row in motion))
    for k in range(3):
        assert error(found[k], expected[k][[0, 4]]) < 1e-10
