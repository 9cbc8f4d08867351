# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What all functions of a robot's state have in common: batches, broadcasting, arguments, errors.

One row for each public function of `rigid/` and `theory/`; what it computes is in its own test.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import pytest

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import rigid, theory
from multibody_dynamics.dynamics.rigid.all_bodies import spatial_bodies
from multibody_dynamics.dynamics.rigid.vector_batches import LARGE_BATCH
from reference import error
from robots import draw, random_base, random_inertia, random_tree, random_wrenches, with_rotors

N, BODY, FRAME = 5, "body3", "flange"
PLAIN = random_tree(N, 3)
MODEL = with_rotors(
    dyn.model_from_screws(
        PLAIN.parents, PLAIN.screws, PLAIN.poses, PLAIN.inertias,
        gravity=PLAIN.gravity,
        frames={FRAME: dyn.model.Frame(2, dyn.se3.exp(np.linspace(-0.3, 0.4, 6)))},
    )
)  # fmt: skip
LOAD = random_inertia(np.random.default_rng(1))
WRENCH = np.random.default_rng(2).normal(size=(3, 6))


class Convention(NamedTuple):
    """A function(model, *rows, **options).

    rows : names of its arguments (n,), of which the last `optional` may be None. takes : its
    options. tolerance : of batches from single results, relative to the largest component.
    """

    function: Callable[..., Any]
    rows: str
    takes: str = ""
    optional: int = 0
    tolerance: float = 1e-14


def with_body(function: Callable[..., Any], *more: Any) -> Callable[..., Any]:
    return lambda model, *rows, **options: function(model, *rows, BODY, *more, **options)


def with_load(function: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    return lambda model, *rows, **options: function(model, FRAME, LOAD, *rows, **more, **options)


def passive(function: Callable[..., Any]) -> Callable[..., Any]:
    return lambda model, *rows, **options: function(model, rows[:4], rows[4:], **options)


def hybrid(model: dyn.MultibodyModel, q: Any, qd: Any, qdd: Any, tau: Any, **options: Any) -> Any:
    return dyn.hybrid_dynamics(model, q, qd, prescribed=[1, 3], qdd=qdd, tau=tau, **options)


def momentum_form(model: dyn.MultibodyModel, q: Any, qd: Any, tau: Any, **options: Any) -> Any:
    momenta = theory.body_momenta(model, q, qd)
    return theory.momentum_equations(model, q, momenta, tau, **options)


STATE = "q qd qdd qddd qdddd"
CONVENTIONS = {
    "forward_kinematics": Convention(dyn.forward_kinematics, STATE, "base representation", 4),
    "frame_pose": Convention(with_body(dyn.frame_pose), "q", "base"),
    "jacobian": Convention(with_body(dyn.jacobian), "q", "base representation"),
    "jacobian_dot": Convention(with_body(dyn.jacobian_dot), "q qd", "base representation"),
    "inverse_dynamics": Convention(
        dyn.inverse_dynamics, STATE, "wrenches base representation", 2
    ),
    "interbody_wrenches": Convention(rigid.interbody_wrenches, STATE, "wrenches base", 2),
    "joint_wrenches": Convention(rigid.joint_wrenches, STATE, "wrenches base", 2),
    "gravity_wrenches": Convention(rigid.gravity_wrenches, "q qd qdd", "base"),
    "load_wrench": Convention(with_load(rigid.load_wrench), STATE, "base", 2),
    "load_cell_reading": Convention(
        with_load(rigid.load_cell_reading, wrench=WRENCH), STATE, "base", 2
    ),
    "wrench_to_world": Convention(with_body(dyn.wrench_to_world, WRENCH), "q qd qdd", "base"),
    "passive_inverse_dynamics": Convention(
        passive(rigid.passive_inverse_dynamics),
        "q qd qdd qddd qrd qrdd qrddd qrdddd", "wrenches base",
    ),
    "reference_motion": Convention(
        passive(rigid.reference_motion), "q qd qdd qddd qrd qrdd qrddd qrdddd", "base"
    ),
    "mass_matrix": Convention(dyn.mass_matrix, "q", tolerance=0.0),
    "mass_matrix_dot": Convention(rigid.mass_matrix_dot, "q qd"),
    "gravity_forces": Convention(dyn.gravity_forces, "q", "base", tolerance=0.0),
    "coriolis_matrix": Convention(dyn.coriolis_matrix, "q qd"),
    "christoffel_symbols": Convention(dyn.christoffel_symbols, "q"),
    "christoffel_symbols_binet": Convention(rigid.christoffel_symbols_binet, "q"),
    "forward_dynamics": Convention(
        dyn.forward_dynamics, "q qd tau", "wrenches base", tolerance=0.0
    ),
    "forward_dynamics_rates": Convention(
        rigid.forward_dynamics_rates, "q qd tau tau_dot tau_ddot", "wrenches base", 1, 0.0
    ),
    "hybrid_dynamics": Convention(hybrid, "q qd qdd tau", "wrenches base", tolerance=0.0),
    "inverse_dynamics_derivatives": Convention(
        dyn.inverse_dynamics_derivatives, "q qd qdd", "wrenches base", tolerance=1e-13
    ),
    "forward_dynamics_derivatives": Convention(
        dyn.forward_dynamics_derivatives, "q qd tau", "wrenches base", tolerance=1e-13
    ),
    "kinetic_energy": Convention(rigid.kinetic_energy, "q qd"),
    "potential_energy": Convention(rigid.potential_energy, "q"),
    "spatial_momentum": Convention(rigid.spatial_momentum, "q qd"),
    "center_of_mass": Convention(rigid.center_of_mass, "q"),
    "spatial_bodies": Convention(spatial_bodies, "q qd"),
    "jacobian_gradient": Convention(
        with_body(theory.jacobian_gradient), "q", "representation"
    ),
    "jacobian_hessian": Convention(with_body(theory.jacobian_hessian), "q", "representation"),
    "jacobian_partial": Convention(
        with_body(theory.jacobian_partial, [4, 0, 4]), "q", "representation"
    ),
    "jacobian_ddot": Convention(with_body(theory.jacobian_ddot), "q qd qdd", "representation"),
    "mass_matrix_closed_form": Convention(theory.mass_matrix_closed_form, "q"),
    "coriolis_matrix_mueller": Convention(theory.coriolis_matrix_mueller, "q qd"),
    "projection_equations": Convention(
        theory.projection_equations, "q qd qdd", "wrenches representation"
    ),
    "lagrange_equations": Convention(theory.lagrange_equations, "q qd qdd", "wrenches"),
    "generalized_momentum": Convention(theory.generalized_momentum, "q qd"),
    "kinetic_energy_gradient": Convention(theory.kinetic_energy_gradient, "q qd"),
    "body_momenta": Convention(theory.body_momenta, "q qd"),
    "momentum_equations": Convention(momentum_form, "q qd tau", "wrenches", tolerance=1e-11),
}  # fmt: skip

every_function = pytest.mark.parametrize("name", CONVENTIONS)


def choices(convention: Convention) -> Iterable[dict[str, Any]]:
    """Each representation; options that the function does not take are left out."""
    has_choice = "representation" in convention.takes
    return [{"representation": x} for x in dyn.REPRESENTATIONS] if has_choice else [{}]


def loads(convention: Convention, *batch: int) -> dict[str, Any]:
    """Wrenches and a moving base, as far as the function takes them."""
    found: dict[str, Any] = {}
    if "wrenches" in convention.takes:
        found["wrenches"] = random_wrenches(MODEL, *batch)
    if "base" in convention.takes:
        found["base"] = random_base(4, *batch)
    return found


def entry(options: dict[str, Any], index: tuple[int, ...]) -> dict[str, Any]:
    """The options of one state of a batch."""
    found = dict(options)
    if "wrenches" in found:
        found["wrenches"] = {body: W[index] for body, W in found["wrenches"].items()}
    if "base" in found:
        found["base"] = dyn.BaseMotion(*(x[index] for x in vars(found["base"]).values()))
    return found


def arrays(result: Any) -> list[np.ndarray]:
    """The arrays of a result."""
    if isinstance(result, np.ndarray | float):
        return [np.asarray(result)]
    return [array for part in result if part is not None for array in arrays(part)]


@every_function
def test_batches_equal_single_results(name):
    convention = CONVENTIONS[name]
    function, rows = convention.function, convention.rows.split()
    for choice in choices(convention):
        for shape in ((), (1,), (2, 3), (0,), (2, 0)):
            state = draw(MODEL, len(rows), *shape)
            options = choice | loads(convention, *shape)
            whole = arrays(function(MODEL, *state, **options))
            assert whole
            assert all(part.shape[: len(shape)] == shape for part in whole)
            for index in np.ndindex(shape):
                single = function(MODEL, *(row[index] for row in state), **entry(options, index))
                for part, one in zip(whole, arrays(single), strict=True):
                    assert error(part[index], one, one.ndim) <= convention.tolerance


@every_function
def test_arguments_broadcast(name):
    convention = CONVENTIONS[name]
    function, (first, *others) = convention.function, convention.rows.split()
    shape = (3, 4) if others else (3,)
    q, rest = draw(MODEL, 1, 3, *shape[1:], seed=1)[0], draw(MODEL, len(others), 4, seed=2)
    q = q[:, :1] if others else q
    options = loads(convention, 2, *[1] * len(shape))
    shape = (2, *shape) if options else shape
    whole = function(MODEL, q, *rest, **options)
    one_of_it = function(
        MODEL, q[2].reshape(N), *rest[:, 3], **entry(options, (1, 0, 0)[: len(shape)])
    )
    for part, one in zip(arrays(whole), arrays(one_of_it), strict=True):
        assert part.shape == (*shape, *one.shape), first
        last = tuple(length - 1 for length in shape)
        assert error(part[last], one, one.ndim) <= convention.tolerance


@every_function
def test_arguments_are_never_written_to(name):
    """They need not be contiguous or writable, and the results are the caller's own."""
    convention = CONVENTIONS[name]
    wide = draw(MODEL, len(convention.rows.split()), 6)
    options = loads(convention, 3)
    given = [wide, *options.get("wrenches", {}).values()]
    before = [array.copy() for array in given]
    for array in given:
        array.flags.writeable = False
    strided = wide[:, ::-2]
    result = arrays(convention.function(MODEL, *strided, **options))
    plain = arrays(convention.function(MODEL, *strided.copy(), **options))
    for part, other in zip(result, plain, strict=True):
        np.testing.assert_array_equal(part, other)
        if part.flags.writeable:
            part[...] = 7
    for array, old in zip(given, before, strict=True):
        np.testing.assert_array_equal(array, old)


BAD = (
    None, 0.0, [1.0], np.zeros(N + 1), np.full(N, np.nan), np.full(N, np.inf), np.zeros(N) * 1j,
    np.zeros(N, dtype=object), ["a"] * N, [[0.0] * N, [0.0]], np.ma.masked_less(np.zeros(N), 1.0),
)  # fmt: skip


@every_function
def test_a_bad_argument_is_named(name):
    convention = CONVENTIONS[name]
    rows = convention.rows.split()
    for k, row in enumerate(rows):
        for bad in BAD:
            if bad is None and convention.optional and k == len(rows) - 1:
                continue
            state: list[Any] = [np.zeros(N)] * len(rows)
            state[k] = bad
            with pytest.raises(dyn.InputError, match=rf"\b{row}\b"):
                convention.function(MODEL, *state)


@every_function
def test_a_masked_number_is_refused_in_large_batches(name):
    """Vector code, which computes them, must not take the number below the mask for a position."""
    rows = CONVENTIONS[name].rows.split()
    masked = np.ma.masked_greater(np.arange(LARGE_BATCH * N).reshape(-1, N) * 1e-5, 1.0)
    with pytest.raises(dyn.InputError, match=rf"{rows[0]}: some numbers are masked"):
        CONVENTIONS[name].function(MODEL, masked, *np.zeros((len(rows) - 1, N)))


@every_function
@pytest.mark.parametrize("model", ["robot.urdf", None])
def test_what_is_no_robot_is_refused(name, model):
    convention = CONVENTIONS[name]
    with pytest.raises(dyn.InputError, match="model: expected a MultibodyModel"):
        convention.function(model, *np.zeros((len(convention.rows.split()), N)))


BAD_OPTIONS = {
    "representation": [("world", "'world' is not one of spatial, body")],
    "wrenches": [
        ({"hand": np.zeros(6)}, "no body or frame 'hand'"),
        ({"base": np.zeros(6)}, "base"),
        ({BODY: np.zeros(5)}, rf"wrenches\['{BODY}'\]: expected"),
        ({BODY: np.full(6, np.nan)}, rf"wrenches\['{BODY}'\].*nan"),
        ([np.zeros(6)], "wrenches: expected a mapping"),
        ({BODY: np.zeros((2, 6))}, r"\(2,\)"),
    ],
    "base": [
        ({"twist": np.zeros(6)}, "base: expected a BaseMotion"),
        (dyn.BaseMotion(twist=np.zeros(5)), r"base\.twist"),
        (dyn.BaseMotion(pose=2.0 * np.eye(4)), r"base\.pose"),
        (dyn.BaseMotion(jounce=np.full(6, np.inf)), r"base\.jounce"),
        (dyn.BaseMotion(twist=np.zeros((2, 6))), r"\(2,\)"),
    ],
}


@every_function
def test_a_bad_option_is_named(name):
    convention = CONVENTIONS[name]
    state = np.zeros((len(convention.rows.split()), 3, N))
    for option in convention.takes.split():
        for bad, message in BAD_OPTIONS[option]:
            with pytest.raises(dyn.InputError, match=message):
                convention.function(MODEL, *state, **{option: bad})


@every_function
def test_incompatible_batches_are_listed(name):
    convention = CONVENTIONS[name]
    rows = convention.rows.split()
    for k in range(1, len(rows)):
        state = [np.zeros((2, N))] * len(rows)
        state[k] = np.zeros((3, N))
        with pytest.raises(dyn.InputError, match=r"do not broadcast: .*\(3,\)"):
            convention.function(MODEL, *state)
