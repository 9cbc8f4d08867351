# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The inverse dynamics as a linear function of the inertial parameters, and its base parameters.

Body i has the ten parameters (m, mx, my, mz, Ixx, Ixy, Ixz, Iyy, Iyz, Izz): mass, first moment m c,
and inertia about the origin of the body frame, all in the axes of that frame; kg, kg m and kg m^2.
A model lists them in body order, ten per body. The joint torques are
tau = Y(q, q', q'') parameters.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import comb, pi
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr

from ...codegen import Program
from ...core import (
    STATE_ROWS,
    Array,
    IndependentCopies,
    InputError,
    answers,
    as_array,
    by_robot,
    check_sequence,
    leibniz,
    product,
    read_only,
    times,
    transposed,
)
from ...lie import so3
from ...lie.screw_matrices import Ad, ad, coAd, coad, hat
from ...mechanisms import ClosedChainModel
from ...model import MultibodyModel, model_state
from ...rigid import (
    BaseMotion,
    forward_kinematics,
    reference_motion,
    traced_motion,
    traced_robot,
    vector_batch,
)

Scalars = NDArray[Any]

INERTIAL = ("m", "mx", "my", "mz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")
UPPER = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))  # places of the six entries of an inertia


def _pseudo_inertias() -> Array:
    """(10, 4, 4): what a unit of each parameter adds to the pseudo-inertia, see there."""
    E = np.zeros((10, 4, 4))
    E[0, 3, 3] = 1.0
    for k in range(3):
        E[1 + k, k, 3] = E[1 + k, 3, k] = 1.0
    for k, (i, j) in enumerate(UPPER, start=4):
        E[k, :3, :3] = 0.5 * (i == j) * np.eye(3)
        E[k, i, j] = E[k, j, i] = E[k, i, j] - 1.0
    return read_only(E)


PSEUDO_INERTIAS = _pseudo_inertias()

JointParameter = Literal["rotor", "viscous", "coulomb"]
LARGE_BATCH = 2**12  # states; larger batches are computed by vector code

JOINT_PARAMETERS: tuple[str, ...] = get_args(JointParameter)

# The columns are scaled to norms from 1 down to this: among equally suitable columns, those of
# bodies nearer to the base then become leading.
LAST_NORM = 0.5
ROUNDING = 1e-12  # coefficients between scaled columns that are smaller than this are zero


class Regressor(NamedTuple):
    """Y (..., n, p) of the joint torques and of their rates; None if not determined."""

    Y: Array
    Y_dot: Array | None
    Y_ddot: Array | None


def parameter_names(model: MultibodyModel, extra: Sequence[JointParameter] = ()) -> tuple[str, ...]:
    """The names of the columns of the regressor, such as "link3.mx" and "joint3.viscous"."""
    _check_extra(extra)
    inertial = [f"{body}.{name}" for body in model.body_names for name in INERTIAL]
    return (*inertial, *(f"{joint}.{name}" for name in extra for joint in model.joint_names))


def inertial_parameters(model: MultibodyModel) -> Array:
    """The parameters (10 N,) of the bodies with the payloads that they carry; SI units."""
    M = model.inertias
    entries = [M[:, i, j] for i, j in UPPER]
    columns = (M[:, 5, 5], *so3.vee(M[:, :3, 3:]).T, *entries)
    return np.stack(columns, axis=-1).ravel()


def with_inertial_parameters(model: MultibodyModel, parameters: Any) -> MultibodyModel:
    """The robot with other parameters (10 N,); payloads keep theirs, and the links get the rest.

    Raises InputError for a wrong shape, NaN or infinity, and ModelError for physically impossible
    parameters: a negative mass, or an inertia about the COM that is not positive semidefinite.
    """
    values = as_array("parameters", parameters, (10 * model.body_count,)).reshape(-1, 10)
    if len(values) != model.body_count:
        raise InputError(f"parameters: expected shape ({10 * model.body_count},), got a batch")
    M = (_momentum(np.eye(6)) @ values[:, None, :, None])[..., 0]  # row a is M e_a, M is symmetric
    return replace(model, link_inertias=M - (model.inertias - model.link_inertias))


def pseudo_inertia(parameters: Any) -> Array:
    """The second moments of the mass, (..., 4, 4), of the ten parameters (..., 10) of one body.

    [[Sigma, m c], [m c^T, m]] with Sigma = tr(I)/2 1 - I = integral p p^T dm: the sum of
    (p, 1) (p, 1)^T dm over the body (P. M. Wensing, S. Kim, J.-J. E. Slotine, "Linear matrix
    inequalities for physically consistent inertial parameter identification", IEEE RA-L 3(1),
    2018).
    """
    values = as_array("parameters", parameters, (10,))
    J = values @ PSEUDO_INERTIAS.reshape(10, 16)
    return np.asarray(J.reshape(*values.shape[:-1], 4, 4))


def is_physically_consistent(parameters: Any) -> NDArray[np.bool_]:
    """Whether some body of finite extent has the ten parameters (..., 10); a boolean (...).

    That is, whether their :func:`pseudo_inertia` is positive definite: a positive mass, an inertia
    about the COM that is positive definite, and principal moments that satisfy the triangle
    inequality. Point masses, rods and plates are on the boundary and are not consistent in this
    sense.
    """
    return np.asarray(np.linalg.eigvalsh(pseudo_inertia(parameters))[..., 0] > 0)


def inverse_dynamics_regressor(
    model: MultibodyModel, q: Any, qd: Any, qdd: Any, qddd: Any | None = None,
    qdddd: Any | None = None, *, base: BaseMotion | None = None,
    extra: Sequence[JointParameter] = (),
) -> Regressor:  # fmt: skip
    """Y (..., n, 10 n) with Q = Y :func:`inertial_parameters`, and its time derivatives.

    The momentum balance of [M18d] (41) in the frame of body j is linear in its parameters,
    W_j = D_j pi_j with D = Phi(V' + G) - ad_V^T Phi(V), where Phi(V) pi = M V, and
    Y_ij = S_i^T Ad_{C_j}^-T D_j for every joint i on the path from the base to body j.
    Q' = Y' pi and Q'' = Y'' pi are computed as far as `qddd` and `qdddd` are given.

    Parameters
    ----------
    q, qd, qdd, qddd, qdddd : (..., n), rad or m and per s^k; leading dimensions broadcast.
    base : motion of the base; at rest if None.
    extra : parameters of the joints, n columns each, appended in the order given: "rotor", the
        reflected inertias of the model (q''), "viscous" (friction, q') and "coulomb" (friction,
        sign q', with rates of zero).

    Raises InputError for wrong shapes, gaps (`qdddd` without `qddd`), NaN, infinity and an unknown
    kind of parameter; and for rates of a robot with loops.
    """
    _check_extra(extra)
    states, shape, given = model_state(model, q, qd, qdd, qddd, qdddd)
    if given < 3:
        raise InputError(f"the regressor needs {STATE_ROWS[given]}")
    rows = np.moveaxis(states.reshape(*shape, 5, model.n), -2, 0)[:given]
    columns = []
    for k, inertial in enumerate(_inertial_columns(model, rows, base)):
        if not extra:
            columns.append(inertial)
            continue
        others = _joint_columns(rows, k, extra)
        others = [np.broadcast_to(x, (*inertial.shape[:-1], model.n)) for x in others]
        columns.append(np.concatenate([inertial, *others], axis=-1))
    return Regressor(*columns, *[None] * (3 - len(columns)))


def trace_regressor(model: MultibodyModel, order: int = 0) -> Program:
    """Y with Q = Y pi, and its first `order` derivatives, as straight-line code, base at rest.

    Inputs: "q", "qd", "qdd", and for each order one more derivative, each (n,). Results: "Y",
    "Y_dot", "Y_ddot", each (n 10 n,), row by row; see :func:`inverse_dynamics_regressor`. Raises
    InputError for an order other than 0, 1 and 2.
    """
    if order not in range(len(Regressor._fields)) or isinstance(order, bool):
        raise InputError(f"order: expected 0, 1 or 2, got {order!r}")
    robot = traced_robot(model, STATE_ROWS[: order + 3])
    pose, V = traced_motion(model, robot, order + 2, "body", range(model.body_count))
    return robot.program(
        dict(zip(Regressor._fields, inertial_columns(model, pose, V), strict=False))
    )


def passive_regressor(
    model: MultibodyModel,
    state: Sequence[Any],
    reference: Sequence[Any],
    *,
    base: BaseMotion | None = None,
) -> Regressor:
    """Y (..., n, 10 n) with u = Y :func:`inertial_parameters`, and its time derivatives.

    u = M q_r'' + C(q, q') q_r' + g, with C from the Christoffel symbols. See
    :func:`.passive_inverse_dynamics` for the arguments `state` (q, q', ...) and `reference` (q_r',
    q_r'', ...). With the reference twist V_r and the bracket [V, V_r] = ad_V V_r, the matrix D =
    Phi(V') - ad_V^T Phi(V) of :func:`inverse_dynamics_regressor` becomes

        D = Phi(V_r' + [V, V_r] / 2) - (ad_V^T Phi(V_r) + ad_(V_r)^T Phi(V)) / 2.

    Reflected inertias are not inertial parameters; add their torques, inertia times q_r'', to Y pi.
    For adaptation in the control cycle, :meth:`.PassiveInverseDynamicsSolver.power_moments` gives
    Y^T x without Y. Raises InputError as :func:`.passive_inverse_dynamics` does.
    """
    motion = reference_motion(model, state, reference, base=base)
    V, Vr = motion.twists, motion.reference_twists
    count = len(Vr) - 1
    bracket = [leibniz(k, lambda X, Y: times(ad(X), Y), V, Vr) for k in range(count)]
    balance = [
        _momentum(Vr[k + 1] + bracket[k] / 2) + (_wrench(k, V, Vr) + _wrench(k, Vr, V)) / 2
        for k in range(count)
    ]
    columns = _along_paths(model, motion.pose, V, balance)
    return Regressor(*columns, *[None] * (3 - count))


def _wrench(k: int, X: list[Array], Y: list[Array]) -> Array:
    """The k-th derivative of -ad_X^T Phi(Y)."""
    return leibniz(k, np.matmul, [coad(x) for x in X], [_momentum(y) for y in Y])


@by_robot
def _inertial_columns(model: MultibodyModel, rows: Array, base: BaseMotion | None) -> list[Array]:
    """Y, Y', Y'' (..., n, 10 n) for rows q, q', ... (k, ..., n), as far as the rows allow."""
    if base is None:
        order, shape = len(rows) - 3, ("n", 10 * model.body_count)
        name, given = f"regressor-{order}", dict(zip(STATE_ROWS, rows, strict=False))
        trace, shapes = partial(trace_regressor, model, order), [shape] * (order + 1)
        found = vector_batch(model, name, trace, given, shapes, large=LARGE_BATCH, kinematic=True)
        if found is not None:
            return found
    pose, *rates = forward_kinematics(model, *rows, base=base, representation="body")
    return inertial_columns(model, pose, [rate for rate in rates if rate is not None])


@answers(_inertial_columns, ClosedChainModel)
def _reduced_columns(model: ClosedChainModel, rows: Array, base: BaseMotion | None) -> list[Array]:
    """G^T Y of the tree with G = dq/ds, since the loops do no work; with rates."""
    Y = _inertial_columns(model.tree, np.stack(model.tree_motion(*rows)), base)
    return product([np.swapaxes(G, -1, -2) for G in model.reduction(*rows[: len(Y)])], Y)


def inertial_columns(model: MultibodyModel, pose: Scalars, V: list[Scalars]) -> list[Scalars]:
    """Y, Y', ... (..., n, 10 n) over any scalars, from poses (..., n, 4, 4) and body-fixed twists
    and their derivatives, each (..., n, 6), of which the last one determines no rate of Y."""
    momentum = [_momentum(x) for x in V]
    return _along_paths(model, pose, V, _rate([coad(x) for x in V], momentum))


def _along_paths(
    model: MultibodyModel, pose: Scalars, V: list[Scalars], balance: list[Scalars]
) -> list[Scalars]:
    """Y and its rates from D and its rates, without gravity, in the frame of each body."""
    count = len(balance)
    turn, coturn = [ad(x) for x in V], [coad(x) for x in V]
    # All rows are in the frame of their body, in which S is constant; G is constant in space. The
    # momentum balance is P' + M G.
    X = model.body_screws[..., None]
    G = [np.zeros((*pose.shape[:-2], 6, 1), dtype=pose.dtype)]
    G[0][..., 3:, 0] = times(transposed(pose[..., :3, :3]), -model.gravity)
    for k in range(count - 1):
        G.append(-leibniz(k, np.matmul, turn, G))
    balance = [b + _momentum(g[..., 0]) for b, g in zip(balance, G, strict=True)]

    S = [transposed(x) for x in _in_space(Ad(pose), turn, [X] + (count - 1) * [0 * X])]
    W = _in_space(coAd(pose), coturn, balance)
    size = 10 * model.body_count
    results = [np.zeros((*pose.shape[:-2], size), dtype=pose.dtype) for _ in W]
    for j in range(model.body_count):
        path = model.path(j)
        block = slice(10 * j, 10 * j + 10)
        for k, Y in enumerate(results):
            Y[..., path, block] = sum(
                comb(k, r) * (S[r][..., path, 0, :] @ W[k - r][..., j, :, :]) for r in range(k + 1)
            )
    return [model.collect(Y, -2) for Y in results]


def _joint_columns(rows: Array, order: int, extra: Sequence[JointParameter]) -> list[Array]:
    """The columns (..., n, n) of joint parameters in the derivative of Y of the given order."""
    qd = rows[1]
    factors = {
        "rotor": rows[2 + order],
        "viscous": rows[1 + order],
        "coulomb": np.sign(qd) if order == 0 else np.zeros_like(qd),
    }
    return [factors[name][..., None] * np.eye(qd.shape[-1]) for name in extra]


def _momentum(V: Scalars) -> Scalars:
    """Phi(V) (..., 6, 10): the momentum M V of a body, Phi(V) times its parameters."""
    (wx, wy, wz), o = np.moveaxis(V[..., :3], -1, 0), np.zeros(V.shape[:-1], dtype=V.dtype)
    turning = [[wx, wy, wz, o, o, o], [o, wx, o, wy, wz, o], [o, o, wx, o, wy, wz]]
    Phi = np.zeros((*V.shape[:-1], 6, 10), dtype=V.dtype)
    Phi[..., :3, 1:4] = -hat(V[..., 3:])
    Phi[..., :3, 4:] = np.moveaxis(np.array(turning), (0, 1), (-2, -1))
    Phi[..., 3:, 0] = V[..., 3:]
    Phi[..., 3:, 1:4] = hat(V[..., :3])
    return Phi


def _rate(a: Sequence[Array], x: Sequence[Array]) -> list[Array]:
    """The rate x' + a x and its derivatives, of x in a moving frame, with a = ad_V or coad_V."""
    return [dx + leibniz(k, np.matmul, a, x) for k, dx in enumerate(x[1:])]


def _in_space(A: Array, a: Sequence[Array], x: list[Array]) -> list[Array]:
    """A x, (A x)', ... for A = Ad_C or coAd_C, whose derivative is A a."""
    seen = []
    while x:
        seen.append(A @ x[0])
        x = _rate(a, x)
    return seen


def _check_extra(extra: Sequence[str]) -> None:
    check_sequence("extra", extra, "kinds of parameters")
    for k, name in enumerate(extra):
        if name not in JOINT_PARAMETERS or name in extra[:k]:
            raise InputError(
                f"extra: expected some of {', '.join(JOINT_PARAMETERS)}, each once; got "
                f"{list(extra)}"
            )


@dataclass(frozen=True, eq=False)
class BaseParameters(IndependentCopies):
    """The minimal set of combinations of parameters on which the joint torques depend.

    beta = combination @ parameters, and Y parameters = Y[..., indices] beta for every motion.

    Attributes
    ----------
    parameter_names : (p,) as from :func:`parameter_names`.
    indices : (r,) int, ascending, of the leading parameter of each combination.
    combination : (r, p), 1 at the leading parameter, 0 at the leading parameters of the others.
    """

    parameter_names: tuple[str, ...]
    indices: NDArray[np.int64]
    combination: Array

    @property
    def rank(self) -> int:
        """The number of base parameters."""
        return len(self.indices)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the leading parameters."""
        return tuple(self.parameter_names[k] for k in self.indices)

    def reduce(self, Y: Any) -> Array:
        """The columns (..., r) of a regressor (..., p) that belong to the base parameters."""
        return as_array("Y", Y, (len(self.parameter_names),))[..., self.indices]

    def values(self, parameters: Any) -> Array:
        """The base parameters (..., r) of parameters (..., p)."""
        p = len(self.parameter_names)
        return as_array("parameters", parameters, (p,)) @ self.combination.T

    def describe(self) -> str:
        """A line for each base parameter, with the terms of its sum."""
        lines = []
        for leading, row in zip(self.indices, self.combination, strict=True):
            others = [k for k in np.flatnonzero(row) if k != leading]
            terms = [f"{row[k]:+.6g} {self.parameter_names[k]}" for k in others]
            lines.append(" ".join([self.parameter_names[leading], *terms]))
        return "\n".join(lines)


def base_parameters(
    model: MultibodyModel,
    *,
    extra: Sequence[JointParameter] = (),
    tolerance: float = 1e-9,
    seed: int = 0,
) -> BaseParameters:
    """The base parameters of a robot, by QR decomposition with column pivoting.

    (M. Gautier, "Numerical calculation of the base inertial parameters of robots", J. Robotic
    Systems 8(4), 1991.) The regressor is stacked over random states, with more than three times as
    many equations as parameters. The base parameters depend on the structure of the robot and on
    the direction of gravity relative to its base; zero gravity leaves fewer. `extra` as in
    :func:`inverse_dynamics_regressor`. Equal arguments give equal results. A robot with loops is
    moved as far as they allow.

    A column whose norm is below `tolerance` times that of the largest has no effect; of the rest,
    scaled to similar norms, a diagonal entry of R below `tolerance` times the first marks a column
    that depends on those before it. Among equally suitable columns, those of bodies nearer to the
    base become leading; other states may select other leading parameters for the same combinations.
    """
    names = parameter_names(model, extra)
    count = 20 + 3 * len(names) // model.n
    states = np.random.default_rng(seed).uniform(-1, 1, (3, count, model.n))
    states *= np.array([pi, 2.0, 5.0])[:, None, None]
    states[0] = model.within_reach(model.home + states[0])
    W = inverse_dynamics_regressor(model, *states, extra=extra).Y.reshape(-1, len(names))
    size = np.linalg.norm(W, axis=0)
    effective = np.flatnonzero(size > tolerance * size.max())
    size[effective] /= np.linspace(1, LAST_NORM, len(effective))
    R, order = qr(W[:, effective] / size[effective], mode="r", pivoting=True)
    diagonal = np.abs(np.diag(R))
    rank = int(np.sum(diagonal > tolerance * diagonal[0]))
    pivots = effective[order]
    combined = np.eye(rank, len(pivots))
    combined[:, rank:] = np.linalg.solve(R[:rank, :rank], R[:rank, rank:])
    combined[np.abs(combined) < ROUNDING] = 0
    combination = np.zeros((rank, len(names)))
    combination[:, pivots] = combined * size[pivots] / size[pivots[:rank], None]
    ascending = np.argsort(pivots[:rank])
    indices = read_only(pivots[ascending], np.int64)
    return BaseParameters(names, indices, read_only(combination[ascending]))
