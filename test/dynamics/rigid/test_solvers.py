# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What all solvers for the control cycle have in common: fixed buffers, and the same functions."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import rigid
from multibody_dynamics.dynamics.codegen import Calls
from reference import error
from robots import draw, random_base, random_tree, random_wrenches, singular_arm, with_rotors

needs_calls = pytest.mark.skipif(
    not Calls.available(), reason="machine code needs Numba, which is optional"
)


def specialised(model: dyn.MultibodyModel) -> dyn.InverseDynamicsSolver:
    """A solver whose specialised kernel is in force."""
    solver = dyn.InverseDynamicsSolver(model, "body", specialise=True)
    assert solver.wait() == "specialised"
    return solver


def forward_rates(model: dyn.MultibodyModel, *rows: Any, **options: Any) -> Any:
    return [x for x in rigid.forward_dynamics_rates(model, *rows, **options) if x is not None]


class Pair(NamedTuple):
    """A solver, and the function that it equals; both take rows with these names."""

    make: Callable[[dyn.MultibodyModel], Any]
    rows: str
    function: Callable[..., Any]
    tolerance: float = 1e-15
    keys: tuple[str, ...] = ("state",)  # the buffers of these rows

    def solve(self, solver: Any, rows: Any) -> Any:
        return solver(rows[:4], rows[4:]) if "reference" in self.keys else solver(*rows)

    def fill(self, solver: Any, rows: Any) -> None:
        """Write the rows into the buffers."""
        begin = 0
        for key in self.keys:
            buffer = getattr(solver, key)
            buffer[:] = rows[begin : begin + len(buffer)]
            begin += len(buffer)


def passive(model: dyn.MultibodyModel, *rows: Any, **options: Any) -> Any:
    return rigid.passive_inverse_dynamics(model, rows[:4], rows[4:], **options)


STATE = "q qd qdd qddd qdddd"
PAIRS = {
    **{
        f"inverse, {name}": Pair(
            partial(dyn.InverseDynamicsSolver, representation=name), STATE,
            partial(dyn.inverse_dynamics, representation=name),
        )
        for name in dyn.REPRESENTATIONS
    },
    "inverse, specialised": Pair(specialised, STATE, dyn.inverse_dynamics, 1e-12),
    "passive": Pair(
        rigid.PassiveInverseDynamicsSolver, "q qd qdd qddd qrd qrdd qrddd qrdddd", passive,
        keys=("state", "reference"),
    ),
    "forward": Pair(
        dyn.ForwardDynamicsSolver, "q qd tau",
        lambda *rows, **options: (dyn.forward_dynamics(*rows, **options),), 0.0,
        keys=("state", "torque"),
    ),
    "forward with two rates": Pair(
        partial(dyn.ForwardDynamicsSolver, order=2), "q qd tau tau_dot tau_ddot", forward_rates,
        0.0, keys=("state", "torque"),
    ),
    "derivatives of inverse": Pair(
        rigid.InverseDynamicsDerivativesSolver, "q qd qdd", dyn.inverse_dynamics_derivatives, 1e-12
    ),
    "derivatives of forward": Pair(
        rigid.ForwardDynamicsDerivativesSolver, "q qd tau", dyn.forward_dynamics_derivatives, 1e-11
    ),
}  # fmt: skip
each_pair = pytest.mark.parametrize(
    "pair",
    [pytest.param(p, marks=needs_calls if p.make is specialised else ()) for p in PAIRS.values()],
    ids=PAIRS,
)


def rows_of(pair: Pair, model: dyn.MultibodyModel, seed: int = 1) -> np.ndarray:
    return draw(model, len(pair.rows.split()), seed=seed)


def check(pair: Pair, solver: Any, model: Any, rows: np.ndarray, **options: Any) -> None:
    """By a call, and by writing into the buffers."""
    expected = pair.function(model, *rows, **options)
    found = pair.solve(solver, rows)
    for part, wanted in zip(found, expected, strict=True):
        assert error(part, wanted, part.ndim) <= pair.tolerance
    solver.result[:] = np.nan
    pair.fill(solver, rows)
    solver.update()
    for part, wanted in zip(solver.result, expected, strict=True):
        assert error(part, wanted, part.ndim) <= pair.tolerance


@each_pair
def test_a_solver_equals_the_function(pair):
    for n in (1, 2, 6, 12):
        model = with_rotors(random_tree(n, n))
        solver = pair.make(model)
        for seed in range(3):
            check(pair, solver, model, rows_of(pair, model, seed))


@each_pair
def test_robot_base_and_wrenches_can_be_exchanged_and_keep_their_values(pair):
    model = random_tree(6, 22)
    loaded = model.with_payload("body6", 2.0, (0.1, 0.2, 0.3), np.eye(3), name="crate")
    loaded = loaded.with_gravity((1.0, 2.0, -3.0))
    wrenches = random_wrenches(model)
    solver, rows = pair.make(model), rows_of(pair, model)
    for robot, base, is_pushed in (
        (model, None, False), (loaded, None, True), (loaded, random_base(1), True),
        (model, random_base(2), False), (model, None, True), (model, None, False),
    ):  # fmt: skip
        solver.set_model(robot)
        solver.set_base(base)
        assert solver.model is robot
        solver.applied_wrenches[:] = 0.0
        for body, W in wrenches.items():
            solver.applied_wrenches[model.body_index(body)] = is_pushed * W
        for _ in range(2):
            check(pair, solver, robot, rows, base=base, wrenches=wrenches if is_pushed else None)


@each_pair
def test_what_does_not_fit_is_rejected_and_changes_nothing(pair):
    model, base = random_tree(6, 22), random_base(3)
    rows = rows_of(pair, model)
    solver = pair.make(model)
    solver.set_base(base)
    for other in (random_tree(6, 24), random_tree(5, 22)):
        with pytest.raises(dyn.InputError, match=r"joints of robot .* differ from .*new \w+Solver"):
            solver.set_model(other)
    for bad in (random_base(21, 1), dyn.BaseMotion(twist=np.full(6, np.nan))):
        with pytest.raises(dyn.InputError, match="base"):
            solver.set_base(bad)
    for name in (*pair.keys, "result", "applied_wrenches"):
        with pytest.raises(AttributeError, match=rf"write into it: solver\.{name}\[:\]"):
            setattr(solver, name, np.zeros((5, 6)))
    assert solver.model is model
    check(pair, solver, model, rows, base=base)


BAD_ROWS = (
    0.0, np.zeros(1), [0.0], np.zeros(0), np.zeros(4), np.zeros(6), np.zeros((5, 1)),
    np.zeros((1, 5)), np.zeros((5, 5)), None, np.array([0, 0, np.nan, 0, 0]), [0, 0, 0, 0, np.inf],
    np.full(5, np.inf, dtype=np.float32), np.zeros(5) * 1j, np.zeros(5, dtype=object), ["0"] * 5,
    [[1, 2], [3], 0, 0, 0],
)  # fmt: skip


@each_pair
def test_rejected_rows_are_named_and_leave_the_solver_unchanged(pair):
    model = random_tree(5, 23)
    solver = pair.make(model)
    pair.solve(solver, rows_of(pair, model))
    buffers = [getattr(solver, name) for name in (*pair.keys, "result")]
    before = [buffer.copy() for buffer in buffers]
    for k, name in enumerate(pair.rows.split()):
        for bad in BAD_ROWS:
            rows = list(rows_of(pair, model, 2))
            rows[k] = bad
            with pytest.raises(dyn.InputError, match=rf"^{name}\b"):
                pair.solve(solver, rows)
    for buffer, kept in zip(buffers, before, strict=True):
        np.testing.assert_array_equal(buffer, kept)


@each_pair
def test_a_solver_reuses_its_memory_and_shares_none(pair):
    model = random_tree(6, 18)
    solver, other = pair.make(model), pair.make(random_tree(6, 19))
    first = pair.solve(solver, rows_of(pair, model))
    addresses = [part.ctypes.data for part in first]
    kept = [part.copy() for part in first]
    other.applied_wrenches[:] = 1.0
    pair.solve(other, rows_of(pair, model, 2))
    for part, value in zip(first, kept, strict=True):
        np.testing.assert_array_equal(part, value)
    assert [part.ctypes.data for part in pair.solve(solver, rows_of(pair, model, 2))] == addresses
    assert all(np.shares_memory(part, solver.result) for part in first)


@each_pair
def test_nan_does_not_outlast_its_state(pair):
    """`update` checks nothing, but a NaN has no effect on the next state."""
    model = random_tree(6, 25)
    solver = pair.make(model)
    pair.fill(solver, np.full_like(rows_of(pair, model), np.nan))
    solver.update()
    check(pair, solver, model, rows_of(pair, model))


@each_pair
def test_masses_and_inertias_alone_can_be_exchanged(pair):
    model = random_tree(6, 22).with_reflected_inertia(np.full(6, 0.2))
    loaded = model.with_payload("body4", 2.0, (0.1, 0.2, 0.3), np.eye(3))
    rows = rows_of(pair, model)
    solver = pair.make(model)
    for robot in (loaded, model):
        solver.set_pseudo_inertias(rigid.pseudo_inertias(robot))
        for found, wanted in zip(
            pair.solve(solver, rows), pair.function(robot, *rows), strict=True
        ):
            assert error(found, wanted, found.ndim) < 1e-11
        assert solver.model is model


@pytest.mark.parametrize(
    "make", [dyn.ForwardDynamicsSolver, rigid.ForwardDynamicsDerivativesSolver]
)
def test_a_singular_configuration_is_reported(make):
    solver = make(singular_arm())
    with pytest.raises(dyn.DynamicsError, match=r"singular.*-1.*'joint1' has no inertia"):
        solver([0.0, -1.0], np.zeros(2), np.zeros(2))
    assert not solver.update()
    solver.state[0] = 0.0, -1.0 + 1e-6  # a small inertia is enough, from the next call on
    assert all(solver.update() for _ in range(300))


def test_pseudo_inertias_are_those_of_the_parameters():
    model = random_tree(6, 22)
    P = dyn.identification.pseudo_inertia(
        dyn.identification.inertial_parameters(model).reshape(-1, 10)
    )
    B = model.body_in_joint
    assert error(rigid.pseudo_inertias(model), B @ P @ np.swapaxes(B, -1, -2), 3) < 1e-14
