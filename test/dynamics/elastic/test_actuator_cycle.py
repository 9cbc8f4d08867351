# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The compiled actuators against those for arrays, which have independent tests of their own."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

import kinds
from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.dynamics.elastic import (
    VARIANTS,
    Actuator,
    Actuators,
    Antagonistic,
    CubicSpring,
    LinearSpring,
    Motor,
    MotorFeedforward,
    PolynomialSpring,
    Rigid,
    SeriesElastic,
    SpringSolver,
    StiffnessDrive,
    TableSpring,
    VariableStiffness,
    actuator_rows,
    load_actuators,
    motor_motion,
)
from multibody_dynamics.dynamics.elastic.actuator_tables import BEYOND_TRAVEL, SECOND_OUTPUT_CLIPPED

CONFIG = Path(__file__).resolve().parents[3] / "config" / "elastic_joints" / "every_kind.yaml"
MOTOR = Motor(0.3, viscous=0.5, coulomb=0.4, coulomb_velocity=0.1, torque_limit=40.0)
PULL = PolynomialSpring((5.0, 900.0), travel=(0.0, 0.6))
POINTS = np.linspace(0.0, 0.3, 7)
TABLE = TableSpring(POINTS, 200.0 * POINTS + 3e3 * POINTS**3, symmetric=True)
HARD = TableSpring(POINTS, 20.0 * POINTS + 400.0 * POINTS**2)

KINDS: dict[str, Actuator] = {
    "rigid": Rigid(MOTOR),
    "linear": SeriesElastic(MOTOR, LinearSpring(300.0)),
    "cubic": SeriesElastic(Motor(0.2), CubicSpring(150.0, 4e3)),
    "table": SeriesElastic(MOTOR, TABLE),
    "damped": SeriesElastic(MOTOR, LinearSpring(300.0), damping=3.0),
    "damped_cubic": SeriesElastic(MOTOR, CubicSpring(150.0, 4e3), damping=0.3),
    "input": VariableStiffness(MOTOR, (100.0, 900.0), CubicSpring(1.0, 3.0, travel=(-0.5, 0.5))),
    "driven": VariableStiffness(
        MOTOR, (100.0, 900.0), drive=StiffnessDrive(Motor(1e-3, viscous=0.01), 50.0, 200.0)
    ),
    "stiff": Antagonistic(MOTOR, Motor(0.4), PULL, PULL),
    "tense": Antagonistic(MOTOR, Motor(0.4), PULL, HARD, "pretension"),
    "last": SeriesElastic(Motor(0.1), PolynomialSpring((200.0, 150.0, 3e3), travel=(-0.3, 0.3))),
}
ALL = Actuators(tuple(KINDS), tuple(KINDS.values()))


def every_kind() -> Actuators:
    names = tuple(yaml.safe_load(CONFIG.read_text())["joints"])
    return load_actuators(CONFIG, names)


EXAMPLES = Actuators(tuple(kinds.EXAMPLES), [each.actuator for each in kinds.EXAMPLES.values()])
ROBOTS = {"every_kind.yaml": every_kind(), "all": ALL, "examples": EXAMPLES}
each_robot = pytest.mark.parametrize("actuators", ROBOTS.values(), ids=ROBOTS)


def random_motion(
    actuators: Actuators, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """state (5, n), Q (3, n) and second outputs (3, v) that are feasible for every kind."""
    state = rng.normal(size=(5, actuators.n))
    Q = rng.uniform(-1.0, 1.0, size=(3, actuators.n)) * [[4.0], [20.0], [200.0]]
    second = rng.uniform(-30.0, 30.0, size=(3, len(actuators.variable_joints)))
    for i, actuator, _, v in actuators.each():
        if actuator.second_output is not None:
            low, high = actuator.second_output_range(Q[:1, i])
            second[0, v] = rng.uniform(0.9 * low + 0.1 * high, 0.1 * low + 0.9 * high)[0]
        elif actuator.limits_of_springs[0][0] == 0.0:
            Q[0, i] = abs(Q[0, i])
    return state, Q, second


def assert_close(found: np.ndarray, wanted: np.ndarray, digits: float = 1e-13) -> None:
    scale = np.maximum(np.abs(wanted), np.nanmax(np.abs(wanted), axis=-1, keepdims=True, initial=0))
    np.testing.assert_array_less(np.abs(found - wanted), digits * scale + 1e-300)


@each_robot
def test_the_feedforward_is_the_flat_map(actuators):
    cycle = MotorFeedforward(actuators)
    rng = np.random.default_rng(1)
    for _ in range(50):
        cycle.state[:], cycle.torque[:], cycle.stiffness[:] = random_motion(actuators, rng)
        cycle.settle()
        command = cycle.update()
        np.testing.assert_allclose(
            cycle.deflection, actuators.settled_deflection(cycle.torque), rtol=1e-13, atol=1e-16
        )
        wanted = motor_motion(
            actuators, cycle.state, cycle.torque, cycle.stiffness, deflection=cycle.deflection
        )
        assert_close(np.array(command), np.array(wanted[:4]))
        assert_close(cycle.spring_deflection[None], wanted.deflection[None])
        carried = actuators.motor_torque(wanted.velocity, wanted.acceleration, cycle.load)
        np.testing.assert_allclose(carried, wanted.torque, rtol=1e-10, atol=1e-10)
        assert not cycle.flags.any()
        assert cycle.problems() == ()


@pytest.mark.parametrize("actuators", [ROBOTS["every_kind.yaml"], ALL])
def test_beyond_the_travel_springs_continue_and_are_reported(actuators):
    """Thirty times the torques for which the second outputs are feasible."""
    cycle = MotorFeedforward(actuators)
    rng = np.random.default_rng(2)
    beyond = 0
    for _ in range(30):
        state, Q, second = random_motion(actuators, rng)
        cycle.state[:], cycle.torque[:], cycle.stiffness[:] = state, 30.0 * Q, second
        cycle.deflection[:] = rng.uniform(-0.5, 0.5, actuators.n)
        command = np.array(cycle.update())
        wanted = motor_motion(
            actuators, state, 30.0 * Q, second, deflection=cycle.deflection, beyond="continue"
        )
        assert_close(command, np.array(wanted[:4]), 1e-12)
        travel = np.array([e for each in actuators.actuators for e in each.limits_of_springs])
        outside = (wanted.deflection < travel[:, 0]) | (wanted.deflection > travel[:, 1])
        # springs that regulate a stiffness stay on their travel, up to rounding at its end
        reported = (cycle.flags & BEYOND_TRAVEL) > 0
        sure = np.abs(wanted.deflection - travel.T).min(axis=0) > 1e-12
        np.testing.assert_array_equal(reported[sure], outside[sure])
        beyond += outside.sum()
        assert np.isfinite(command).all()
    assert beyond > 30


def test_an_infeasible_second_output_is_clipped_and_reported_by_motor():
    cycle = MotorFeedforward(ALL)
    state, Q, second = random_motion(ALL, np.random.default_rng(3))
    cycle.state[:], cycle.torque[:] = state, Q
    names = ALL.variable_joints
    clipped = [j for j, name in enumerate(names) if name != "tense"]
    ends = np.array(
        [each.second_output_range(Q[:1, i]) for i, each, _, _ in ALL.each() if each.second_output]
    )[..., 0]
    for side, factor in ((0, 0.5), (1, 2.0)):
        second[:, clipped] = 0.0
        second[0, clipped] = factor * ends[clipped, side]
        cycle.stiffness[:] = second
        command = np.array(cycle.update())
        reported = {ALL.motor_names[j] for j in np.flatnonzero(cycle.flags & SECOND_OUTPUT_CLIPPED)}
        assert reported == {"input", "driven_stiffness", "stiff_agonist", "stiff_antagonist"}
        assert any("stiff_agonist: requested stiffness" in text for text in cycle.problems())
        second[0, clipped] = ends[clipped, side]
        second[0, names.index("stiff")] *= 1.0 + (1e-12 if side == 0 else -1e-12)
        wanted = motor_motion(ALL, state, Q, second, deflection=cycle.deflection, beyond="continue")
        assert_close(command[0], wanted.position, 1e-6)
        assert np.isfinite(command).all()


def test_torques_beyond_antagonistic_springs_are_reported():
    cycle = MotorFeedforward(ALL)
    joint = ALL.joint_names.index("stiff")
    motors = [ALL.motor_names.index(name) for name in ("stiff_agonist", "stiff_antagonist")]
    for Q in (1e4, -1e4):
        cycle.torque[0, joint] = Q
        assert np.isfinite(cycle.update().torque).all()
        assert (cycle.flags[motors] & SECOND_OUTPUT_CLIPPED).all()
    cycle.torque[0, joint] = 0.0
    cycle.update()
    assert not cycle.flags.any()


def test_non_finite_values_do_not_persist():
    """A NaN in the caller's inputs does not persist in the warm starts."""
    cycle, fresh = MotorFeedforward(ALL), MotorFeedforward(ALL)
    state, Q, second = random_motion(ALL, np.random.default_rng(4))
    cycle.torque[:] = np.nan
    cycle.update()
    for each in (cycle, fresh):
        each.state[:], each.torque[:], each.stiffness[:] = state, Q, second
        each.update()
    assert_close(cycle.result, fresh.result)


@each_robot
@pytest.mark.parametrize("dt", [1e-3, 0.1])
def test_the_filters_equal_those_for_arrays(actuators, dt):
    cycle = MotorFeedforward(actuators)
    rng = np.random.default_rng(5)
    for _ in range(20):
        cycle.torque[:] = random_motion(actuators, rng)[1]
        settled = actuators.settled_deflection(cycle.torque)
        before = np.where(np.isnan(cycle.deflection), settled, cycle.deflection)
        cycle.advance(dt)
        wanted = actuators.deflection_after(before, cycle.torque, dt, beyond="continue")
        np.testing.assert_allclose(cycle.deflection, wanted, rtol=1e-12, atol=1e-15)


def test_variants_deflect_the_springs_less():
    """quasi_static deflects springs by Q alone; rigid leaves them unloaded but still delivers Q."""
    cycles = {name: MotorFeedforward(ALL, variant=name) for name in VARIANTS}
    state, Q, second = random_motion(ALL, np.random.default_rng(6))
    second[1:] = 0.0
    for cycle in cycles.values():
        cycle.state[:], cycle.torque[:], cycle.stiffness[:] = state, Q, second
        cycle.update()
    undamped = replace(
        ALL,
        actuators=tuple(
            replace(each, damping=0.0) if isinstance(each, SeriesElastic) else each
            for each in ALL.actuators
        ),
    )
    joint = ALL.joint_of_motor
    none = np.zeros_like(Q)
    for name, bending in (("quasi_static", Q[:1]), ("rigid", none[:1])):
        at_rest = motor_motion(
            undamped, np.zeros_like(state), np.concatenate((bending, none[1:])), second
        )
        side = np.where(np.array(ALL.motor_names) == "driven_stiffness", 0.0, 1.0)
        position, velocity, acceleration, torque = cycles[name].command
        assert_close(position[None], (at_rest.position + side * state[0, joint])[None])
        np.testing.assert_allclose(velocity, side * state[1, joint], atol=1e-15)
        np.testing.assert_allclose(acceleration, side * state[2, joint], atol=1e-15)
        load = torque - ALL.motor_inertia * acceleration - ALL.friction(velocity)
        total = np.bincount(joint, np.where(side == 0.0, 0.0, load))
        np.testing.assert_allclose(total, Q[0], rtol=1e-12)


def test_rest_is_in_the_middle_of_the_second_outputs():
    cycle = MotorFeedforward(ALL)
    cycle.update()
    assert cycle.stiffness[0, :2].tolist() == [500.0, 500.0]
    assert not cycle.stiffness[1:].any()
    assert not cycle.flags.any()


def test_an_unknown_variant_is_rejected():
    with pytest.raises(InputError, match=r"fast.*full, quasi_static, rigid"):
        MotorFeedforward(ALL, variant="fast")


@each_robot
def test_the_springs_equal_those_for_arrays(actuators):
    cycle = SpringSolver(actuators)
    rng = np.random.default_rng(8)
    n, m, v = actuators.n, len(actuators.motors), len(actuators.variable_joints)
    assert not cycle.beyond_travel[actuators.is_rigid[actuators.joint_of_motor]].any()
    outside = 0
    for _ in range(50):
        q, qd = rng.normal(size=(2, n))
        theta = q[actuators.joint_of_motor] + rng.uniform(-0.4, 0.4, m)
        thetad, k = rng.normal(size=m), rng.uniform(100.0, 200.0, (2, v))
        cycle.q[:], cycle.qd[:], cycle.theta[:], cycle.thetad[:] = q, qd, theta, thetad
        cycle.stiffness[:] = k
        cycle.update()
        wanted = actuators.springs(q, qd, theta, thetad, stiffness=k, beyond="continue")
        found = (cycle.torque, cycle.torque_rate, cycle.stiffness_felt, cycle.load)
        for row, want in zip(found, wanted[:4], strict=True):
            scale = np.abs(want[np.isfinite(want)]).max()
            np.testing.assert_allclose(row, want, rtol=1e-13, atol=1e-14 * scale)
        np.testing.assert_array_equal(cycle.deflection, wanted.deflection)
        outside += cycle.beyond_travel.sum()
    assert 0 < outside < 50 * m


def test_an_unknown_kind_is_rejected():
    class Strange(Actuator):
        motors = (MOTOR,)

    Strange.__abstractmethods__ = frozenset()  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="Strange is not one of the registered kinds"):
        actuator_rows(Actuators(("a",), (Strange(),)))  # type: ignore[abstract]
