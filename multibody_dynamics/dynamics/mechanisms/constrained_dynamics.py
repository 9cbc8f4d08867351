# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Inverse, forward and hybrid dynamics of mechanisms with closed loops; [K12] section 3.

    M q'' + b = tau + A^T lambda                                            (54)
    A q'' + A' q' = 0                                                       (71)

with M_vu = M_uv^T in (72)-(78), where the paper prints M_uv twice. A^T lambda are the joint torques
of the constraint forces. Rows of A that depend on other rows have zero multipliers.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..core import (
    STATE_ROWS,
    Array,
    Baumgarte,
    DynamicsError,
    InputError,
    as_array,
    as_partial,
    as_state,
    broadcast_shapes,
    product_rule,
    times,
)
from ..lie import se3
from ..rigid import BaseMotion, Wrenches, articulated_bodies, inverse_dynamics, prescribed_joints
from .constraints import (
    SMALL,
    ConstraintTerms,
    check_motion,
    constraint_terms,
    dropped_names,
    independent_rows,
    state_number,
)
from .loops import ConstrainedModel, ConstraintMatrix

Choice = Literal["unique", "minimum_force", "minimum_torque"]
CHOICES = ("unique", "minimum_force", "minimum_torque")
Indices = NDArray[np.int64]
PSEUDO_INVERSE = 1e-11  # relative cut-off; nonzero singular values are far larger


class ConstrainedInverseDynamics(NamedTuple):
    """Joint torques of a closed mechanism, their rates, and the constraint forces.

    tau, tau_dot, tau_ddot : (..., n) N m or N, per s and s^2; passive joints keep the torque given
        for them. The rates are None unless q''' and q'''' were given.
    multipliers : (..., m) lambda; zero for redundant rows.
    loop_wrenches : {loop: (..., 6)} the wrench that each cut joint applies to its second body, and
        with the opposite sign to the first; inertial axes about the inertial origin, N m and N.
    redundant : names of the rows that were dropped because they depend on the others.
    """

    tau: Array
    tau_dot: Array | None
    tau_ddot: Array | None
    multipliers: Array
    loop_wrenches: Mapping[str, Array]
    redundant: tuple[str, ...]


class ConstrainedMotion(NamedTuple):
    """Joint accelerations and torques (..., n) of a closed mechanism, and the constraint forces.

    rad/s^2 or m/s^2 for `qdd`, N m or N for `tau`, both given and computed. `multipliers`,
    `loop_wrenches` and `redundant` are those of :class:`ConstrainedInverseDynamics`.
    """

    qdd: Array
    tau: Array
    multipliers: Array
    loop_wrenches: Mapping[str, Array]
    redundant: tuple[str, ...]


def constrained_inverse_dynamics(
    system: ConstrainedModel, q: Any, qd: Any, qdd: Any, qddd: Any | None = None,
    qdddd: Any | None = None, *, choice: Choice = "unique", passive_torque: Any | None = None,
    passive_torque_dot: Any | None = None, passive_torque_ddot: Any | None = None,
    wrenches: Wrenches | None = None, base: BaseMotion | None = None,
) -> ConstrainedInverseDynamics:  # fmt: skip
    """Motor torques for a motion that obeys the constraints, and their first two time derivatives.

    With m independent constraints and n_p passive joints, [K12] (56) and (57), `choice` selects a
    solution of A_p^T lambda = tau_pr - tau_p:

    "unique": the only solution (58), which exists if m = n_p;
    "minimum_force": the solution with the smallest |lambda|, (59). For loops |lambda| is the norm
        of the transmitted wrenches about the origin of the first frame, in N m and N;
    "minimum_torque": the solution with the smallest |tau_a|, (62)-(64), and (65), (66) if all
        joints have motors.

    Each is the solution of one linear system, differentiated by the Leibniz rule at constant rank.

    Parameters
    ----------
    q, qd, qdd, qddd, qdddd : (..., n) rad, m and per s^k, see :func:`.consistent_motion`.
        `qddd` is needed for tau_dot, `qddd` and `qdddd` for tau_ddot.
    passive_torque, passive_torque_dot, passive_torque_ddot : (..., n_p) torques of the passive
        joints along the motion besides those of the springs of `system`, such as friction, in the
        order of `system.passive`; default zero.
    wrenches, base : as in :func:`.inverse_dynamics`. The constraints hold relative to the base, and
        everything attached to the base moves with it.

    Raises the errors of :func:`.inverse_dynamics`; InputError for a motion that violates the
    constraints, and for "unique" if the torques are not unique; DynamicsError if no motor torques
    move the passive joints as prescribed: m < n_p (see :func:`constrained_hybrid_dynamics`), or a
    singular configuration.
    """
    _check_choice(choice)
    unconstrained = inverse_dynamics(
        system.tree, q, qd, qdd, qddd, qdddd, wrenches=wrenches, base=base
    )
    states, shape, given = as_state(system.tree.joint_names, q, qd, qdd, qddd, qdddd)
    rates = [states[:, k].reshape(*shape, system.n) for k in range(given)]
    springs = system.spring_torques(*rates)
    tau_r = [Q + load for Q, load in zip(unconstrained, springs, strict=False) if Q is not None]
    given_torques = (passive_torque, passive_torque_dot, passive_torque_ddot)
    passive = _passive_torques(system, given_torques[: len(tau_r)], tau_r[0].shape[:-1])
    constraints = constraint_terms(system, *rates[: _known_derivatives(system, given)])
    kept = independent_rows(system, constraints.matrices[0], constraints.scale)
    A = [matrix[..., kept, :] for matrix in constraints.matrices[: len(tau_r)]]
    _check_motors(system, A[0], choice)
    check_motion(system, constraints, rates)
    tau, multipliers = _motor_torques(system, choice, A, tau_r, passive)
    tau_dot, tau_ddot = (tau[k] if len(tau) > k else None for k in (1, 2))
    transmitted = _transmitted(constraints, kept, multipliers, base)
    return ConstrainedInverseDynamics(tau[0], tau_dot, tau_ddot, *transmitted)


def constrained_forward_dynamics(
    system: ConstrainedModel, q: Any, qd: Any, tau: Any, *, wrenches: Wrenches | None = None,
    base: BaseMotion | None = None, baumgarte: Baumgarte | None = None,
) -> ConstrainedMotion:  # fmt: skip
    """Joint accelerations under the torques `tau` of all joints; [K12] (67)-(69).

    Takes O(n m) + O(m^3) operations: the articulated-body inertias are factorised once.

    Parameters
    ----------
    q, qd : (..., n), rad or m and per s. The state may violate the constraints slightly.
    tau : (..., n), N m or N.
    wrenches, base : as in :func:`constrained_inverse_dynamics`.
    baumgarte : stabilisation that drives violations to zero during integration; without it they
        drift, see :func:`.consistent_motion`.

    Raises InputError for wrong shapes, NaN or infinity; DynamicsError in singular configurations
    in which no acceleration satisfies the dependent constraints.
    """
    nothing = np.zeros(system.n)
    return _move(system, (), (q, qd, nothing), tau, "unique", wrenches, base, baumgarte)


def constrained_hybrid_dynamics(
    system: ConstrainedModel, q: Any, qd: Any, *, prescribed: Sequence[str | int], qdd: Any,
    tau: Any, choice: Choice = "unique", wrenches: Wrenches | None = None,
    base: BaseMotion | None = None, baumgarte: Baumgarte | None = None,
) -> ConstrainedMotion:  # fmt: skip
    """Accelerations of the free joints and torques of the `prescribed` ones; [K12] (70)-(80).

    Prescribing no joint gives the forward dynamics, prescribing all of them the inverse dynamics.

    Parameters
    ----------
    prescribed : names or indices of the joints u whose accelerations are given, with or without a
        motor. The other joints v are free.
    qdd : (..., n); only the entries u are used, the others may be NaN.
    tau : (..., n); only the entries v are used, the others may be NaN.
    choice : selects the torques tau_u, as in :func:`constrained_inverse_dynamics` with u in place
        of the actuated joints. They are not unique if the constraints couple prescribed joints.

    Other arguments are those of :func:`constrained_forward_dynamics`. Raises its errors, and
    DynamicsError if the prescribed accelerations contradict the constraints, InputError for
    "unique" if the torques are not unique.
    """
    _check_choice(choice)
    return _move(system, prescribed, (q, qd, qdd), tau, choice, wrenches, base, baumgarte)


def _move(
    system: ConstrainedModel,
    prescribed: Sequence[str | int],
    rows: tuple[Any, Any, Any],
    tau: Any,
    choice: Choice,
    wrenches: Wrenches | None,
    base: BaseMotion | None,
    baumgarte: Baumgarte | None,
) -> ConstrainedMotion:
    """Hybrid dynamics: the open chain first, then the multipliers that close it."""
    tree = system.tree
    held = prescribed_joints(tree, prescribed)
    u, v = np.flatnonzero(held), np.flatnonzero(~held)
    q, qd, qdd_u = _partial_motion(system, held, rows)
    torques = as_partial("tau", tau, ~held, tree.joint_names)
    constraints = constraint_terms(system, q, qd)
    A = constraints.matrices[0]
    drift = _drift(constraints, qd, baumgarte)

    # the open chain, and its response to unit multipliers, (78)
    bodies = articulated_bodies(tree, q, prescribed=u.tolist())
    needed = inverse_dynamics(tree, q, qd, qdd_u, wrenches=wrenches, base=base).tau
    needed = needed + system.spring_torques(q, qd)[0]
    broadcast_shapes(("motion", "tau"), (needed.shape[:-1], torques.shape[:-1]))
    x, f = bodies.solve_with_forces(torques - needed)
    qdd_r, tau_r = qdd_u + x, needed + f

    independent = independent_rows(system, A, constraints.scale)
    solved = independent_rows(system, A[..., v], constraints.scale)
    qdd, multipliers = qdd_r, np.zeros((*qdd_r.shape[:-1], 0))
    if len(solved):
        A_s = A[..., solved, :]
        X, F = bodies.solve_columns_with_forces(np.swapaxes(A_s, -1, -2))
        violation = times(A_s, qdd_r) + drift[..., solved]
        multipliers = -np.linalg.solve(A_s @ X, violation[..., None])[..., 0]  # (76)
        qdd = qdd_r + times(X, multipliers)  # (80)
        tau_r = tau_r + times(F, multipliers)  # M q'' + b
    size = times(abs(A), abs(qdd_r) + abs(qdd)) + abs(drift)
    names = [tree.joint_names[i] for i in u]
    _check_accelerations(system, constraints, times(A, qdd) + drift, size, names)

    kept = solved
    if len(solved) < len(independent):
        _check_unique(choice, len(independent), len(solved))
        kept = independent
        A_k = A[..., kept, :]
        c = tau_r[..., v] - torques[..., v]
        multipliers = _multipliers(
            choice, [A_k[..., u]], [A_k[..., v]], [tau_r[..., u]], [c], dependent=True
        )[0]
    found = tau_r - times(np.swapaxes(A[..., kept, :], -1, -2), multipliers)  # (79)
    found[..., v] = torques[..., v]
    return ConstrainedMotion(qdd, found, *_transmitted(constraints, kept, multipliers, base))


def _partial_motion(
    system: ConstrainedModel, held: NDArray[np.bool_], rows: tuple[Any, Any, Any]
) -> tuple[Array, Array, Array]:
    """q, q' and q'' (..., n); q'' is zero for the joints that are not `held`."""
    for name, row in zip(STATE_ROWS, rows, strict=False):
        if row is None:
            raise InputError(f"constrained dynamics require {name}")
    names = system.tree.joint_names
    states, shape, _ = as_state(names, *rows[:2], as_partial("qdd", rows[2], held, names))
    q, qd, qdd = (states[:, k].reshape(*shape, system.n).copy() for k in range(3))
    return q, qd, qdd


def _drift(constraints: ConstraintTerms, qd: Array, baumgarte: Baumgarte | None) -> Array:
    """The part of A q'' + drift = 0 that does not depend on q'': A' q', (71), stabilised."""
    A, A_dot = constraints.matrices
    drift = times(A_dot, qd)
    if baumgarte is not None:
        drift = drift + 2 * baumgarte.alpha * times(A, qd)
        drift = drift + baumgarte.beta**2 * constraints.residual
    return drift


def _motor_torques(
    system: ConstrainedModel,
    choice: Choice,
    A: list[Array],
    tau_r: list[Array],
    passive: list[Array],
) -> tuple[list[Array], Array]:
    """tau and lambda, from A and the torques tau_r of the tree; all torques with their rates."""
    a, p = system.actuated_indices, system.passive_indices
    A_a, A_p = ([matrix[..., joints] for matrix in A] for joints in (a, p))
    c = [row[..., p] - tau_p for row, tau_p in zip(tau_r, passive, strict=True)]
    multipliers = _multipliers(choice, A_a, A_p, [row[..., a] for row in tau_r], c)
    forces = product_rule.apply(product_rule.transpose(A), multipliers)
    tau = [row - force for row, force in zip(tau_r, forces, strict=True)]
    for row, tau_p in zip(tau, passive, strict=True):
        row[..., p] = tau_p
    return tau, multipliers[0]


def _multipliers(
    choice: Choice,
    A_a: product_rule.Stack,
    A_p: product_rule.Stack,
    tau_ar: product_rule.Stack,
    c: product_rule.Stack,
    dependent: bool = False,
) -> list[Array]:
    """The solution lambda of A_p^T lambda = c that `choice` selects, with derivatives; (57)-(66).

    With `dependent`, A_p may have dependent columns, with which c must be consistent.
    """
    conditions = [
        _conditions(choice, *terms, unit=float(k == 0))
        for k, terms in enumerate(zip(A_a, A_p, tau_ar, c, strict=True))
    ]
    K, d = zip(*conditions, strict=True)
    if dependent or 0 in K[0].shape[:-2]:  # an empty batch does not reveal the rank
        inverse = np.linalg.pinv(K[0], rcond=PSEUDO_INVERSE)
    else:
        inverse = np.linalg.inv(K[0])
    return [z[..., : A_p[0].shape[-2]] for z in product_rule.solve(np.asarray(inverse), K, d)]


def _conditions(
    choice: Choice, A_a: Array, A_p: Array, tau_ar: Array, c: Array, unit: float
) -> tuple[Array, Array]:
    """K and d of the linear conditions K z = d; the first components of z are lambda.

    The smallest |lambda| has the form lambda = A_p y. The smallest |tau_a|, tau_a = tau_ar - A_a^T
    lambda, satisfies A_a tau_a = A_p mu, because |tau_a|^2 / 2 + mu . (A_p^T lambda - c) is
    stationary in lambda. `unit` multiplies the identity matrices: 1, or 0 for the derivatives.
    """
    m, n_p, n_a = *A_p.shape[-2:], A_a.shape[-1]
    A_aT, A_pT = np.swapaxes(A_a, -1, -2), np.swapaxes(A_p, -1, -2)
    if choice == "unique":
        return A_pT, c
    rest = n_p if choice == "minimum_force" else n_p + n_a
    K = np.zeros((*A_p.shape[:-2], m + rest, m + rest))
    d = np.zeros((*c.shape[:-1], m + rest))
    p, a = slice(m, m + n_p), slice(m + n_p, None)
    K[..., p, :m], K[..., :m, p], d[..., p] = A_pT, -A_p, c
    if choice == "minimum_force":
        K[..., :m, :m] = unit * np.eye(m)
    else:
        K[..., a, :m], K[..., :m, a], d[..., a] = A_aT, A_a, tau_ar
        K[..., a, a] = unit * np.eye(n_a)
    return K, d


def _passive_torques(
    system: ConstrainedModel, given: Sequence[Any | None], shape: tuple[int, ...]
) -> list[Array]:
    """The torques (..., n_p) of the passive joints and their rates; they broadcast with `shape`."""
    names = ("passive_torque", "passive_torque_dot", "passive_torque_ddot")[: len(given)]
    n_p = len(system.passive)
    rows = [
        np.zeros(n_p) if value is None else as_array(name, value, (n_p,), system.passive)
        for name, value in zip(names, given, strict=True)
    ]
    broadcast_shapes(("motion", *names), (shape, *(row.shape[:-1] for row in rows)))
    return rows


def _known_derivatives(system: ConstrainedModel, given: int) -> int:
    """The number of rows q, q', ... with which to evaluate the constraints.

    The torques need `given` - 2 of them. One more allows the highest row to be checked, provided
    that the user's constraints have that derivative of A.
    """
    functions = ("A", "A_dot", "A_ddot", "A_dddot")
    last = functions[given - 2]
    known = all(
        getattr(c, last) is not None for c in system.constraints if isinstance(c, ConstraintMatrix)
    )
    return given - 1 if known else given - 2


def _check_choice(choice: str) -> None:
    if choice not in CHOICES:
        raise InputError(f"choice must be one of {', '.join(CHOICES)}, got {choice!r}")


def _check_unique(choice: Choice, independent: int, solved: int) -> None:
    if choice == "unique":
        raise InputError(
            f"the torques of the prescribed joints are not unique: {independent} constraints, but "
            f"the free joints determine only {solved} of the multipliers; choose 'minimum_force' "
            "or 'minimum_torque'"
        )


def _check_motors(system: ConstrainedModel, A: Array, choice: Choice) -> None:
    """Check that motor torques can move the passive joints as prescribed; A has full rank."""
    if 0 in A.shape[:-2]:
        return  # an empty batch has no rank
    m, n_p = A.shape[-2], len(system.passive)
    freedom, motors = system.n - m, system.n - n_p
    if m < n_p:
        raise DynamicsError(
            f"{freedom} degrees of freedom ({system.n} joints, {m} independent constraints), but "
            f"motors on only {motors} of the joints: no torques make all joints follow prescribed "
            f"accelerations (m = {m} < n_p = {n_p}, passive: {', '.join(system.passive)}); "
            "with constrained_hybrid_dynamics(), prescribe only as many accelerations as motors, "
            f"{motors}, and leave the other joints free"
        )
    if n_p:
        sigma = np.linalg.svd(A[..., system.passive_indices], compute_uv=False)
        excess = sigma[..., n_p - 1] - system.rank_tolerance * sigma[..., 0]
        if np.any(excess <= 0):
            at = np.unravel_index(int(np.argmin(excess)), excess.shape)
            raise DynamicsError(
                f"singular configuration{state_number(at)}: with the motors locked, a passive "
                f"joint ({', '.join(system.passive)}) can still move (singular values of A_p "
                f"{', '.join(f'{s:.3g}' for s in sigma[at])})"
            )
    if choice == "unique" and m > n_p:
        raise InputError(
            f"{motors} motors for {freedom} degrees of freedom: the torques are not unique "
            f"(m = {m} > n_p = {n_p}); choose 'minimum_force' or 'minimum_torque'"
        )


def _check_accelerations(
    system: ConstrainedModel,
    constraints: ConstraintTerms,
    left: Array,
    terms: Array,
    prescribed: Sequence[str],
) -> None:
    """Check that all rows hold, including those not solved for; `terms` are (..., m) sizes."""
    size = SMALL + np.max(terms, axis=-1, keepdims=True)
    excess = abs(left) - system.consistency_tolerance * size
    if np.any(excess > 0):
        at = np.unravel_index(int(np.argmax(excess)), left.shape)
        why = (
            f"the prescribed accelerations of {', '.join(prescribed)} contradict the constraints"
            if prescribed
            else "the configuration is singular, or a dependent constraint has drifted"
        )
        raise DynamicsError(
            f"no acceleration satisfies {constraints.names[at[-1]]}: a residual of {left[at]:.3g} "
            f"remains among terms of {size[at[:-1]][0]:.3g}{state_number(at[:-1])}; {why}"
        )


def _transmitted(
    constraints: ConstraintTerms, kept: Indices, multipliers: Array, base: BaseMotion | None
) -> tuple[Array, dict[str, Array], tuple[str, ...]]:
    """The multipliers of all rows, the wrenches of the loops, and the names of dropped rows."""
    full = np.zeros((*multipliers.shape[:-1], len(constraints.names)))
    full[..., kept] = multipliers
    to_world = se3.coAd(np.eye(4) if base is None or base.pose is None else base.pose)
    wrenches = {
        name: times(to_world @ W, full[..., constraints.rows[name]])
        for name, W in constraints.transmitted.items()
    }
    return full, wrenches, dropped_names(constraints, kept)
