"""Second-order inverse dynamics of a tree in spatial representation, [M21] Algorithm 3.

The recursion is written once. Compiled, it serves the control cycle and batches; as plain Python,
any other scalars: complex numbers, mpmath, CasADi symbols, or NumPy arrays as a batch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .compilation import IS_COMPILED, compiled, inlined
from .conventions import Representation, check_representation
from .errors import InputError
from .inputs import STATE_ROWS, Array, as_array, as_state, broadcast_shapes, spread
from .kinematics import (
    BaseMotion,
    base_rows,
    batch_trig,
    forward_kinematics_recursion,
    store_trig,
)
from .model import MultibodyModel
from .records import (
    ANGULAR,
    BODY_ROW,
    COM,
    INERTIA,
    MASS,
    POSE,
    POSITION,
    ROTOR,
    SCREW,
    TWIST,
    WRENCH,
)
from .screws import (
    accumulate_screw,
    add,
    add3,
    cross,
    load_rotation,
    load_screw,
    load_symmetric,
    load_vector,
    pair,
    rotate,
    rotate_symmetric,
    scale,
    subtract,
    symmetric_times,
)
from .wrenches import Wrenches, wrench_rows


class InverseDynamics(NamedTuple):
    """Joint torques Q and their rates, each (..., n); None for what the input does not determine.

    N m for an angle and N for a translation, per s for `tau_dot`, per s^2 for `tau_ddot`.
    """

    tau: Array
    tau_dot: Array | None
    tau_ddot: Array | None


@inlined
def inverse_dynamics_recursion(parents, joints, gravity, trig, state, order, bodies, result):
    """[M21] Algorithms 1 and 3 for a tree: the joint torques and their first `order` derivatives.

    The momentum balance is taken at the centre of mass and then moved to the inertial origin,
    which needs 3-vectors only: with c the COM and h = Theta omega the angular momentum about it,

        W = (h' + c x f, f),   f = m (c'' - g),

    and W', W'' are its derivatives by the product rule. Gravity enters as the force that it is; the
    twists are free of it, and none of the corrections for a ground acceleration is needed.
    x* below is the derivative of x as seen from the body, x' = x* + omega x x: Theta* = 0.

    Parameters
    ----------
    parents, joints, trig, state, order, bodies : as in `forward_kinematics_recursion`.
    gravity : (3,).
    bodies : on entry, WRENCH holds minus the wrench that the world applies to the body; on return
        what the joint transmits to it ([M21] (30)); in row 0 what the ground gives the base.
    result : (order + 1, n) or more rows, written up to row `order`: Q, Q', Q''.
    """
    forward_kinematics_recursion(parents, joints, trig, state, order, bodies)

    g = (gravity[0], gravity[1], gravity[2])
    for k in range(parents.shape[0]):
        i = parents.shape[0] - 1 - k
        b = i + 1
        p = parents[i] + 1
        m = joints[i, MASS]
        rotor = joints[i, ROTOR]
        R = load_rotation(bodies, b, POSE)
        Theta = rotate_symmetric(R, load_symmetric(joints, i, INERTIA))
        w, v = load_screw(bodies, b, TWIST)
        w1, v1 = load_screw(bodies, b, TWIST + 6)

        c = add(load_vector(bodies, b, POSITION), rotate(R, load_vector(joints, i, COM)))
        c1 = add(v, cross(w, c))
        c2 = add3(v1, cross(w1, c), cross(w, c1))
        f = scale(m, subtract(c2, g))
        h = symmetric_times(Theta, w)
        hs = symmetric_times(Theta, w1)  # h*, as omega* = omega'
        h1 = add(hs, cross(w, h))

        S = load_screw(bodies, b, SCREW)
        W = accumulate_screw(bodies, b, WRENCH, (add(h1, cross(c, f)), f))
        accumulate_screw(bodies, p, WRENCH, W)
        result[0, i] = pair(S, W) + rotor * state[2, i]

        if order > 0:
            w2, v2 = load_screw(bodies, b, TWIST + 12)
            c3 = add3(v2, cross(w2, c), add(scale(2, cross(w1, c1)), cross(w, c2)))
            f1 = scale(m, c3)
            w2s = subtract(w2, cross(w, w1))  # omega**
            hss = symmetric_times(Theta, w2s)
            h1s = add3(hss, cross(w1, h), cross(w, hs))  # (h')*
            h2 = add(h1s, cross(w, h1))

            S1 = load_screw(bodies, b, SCREW + 6)
            W1 = (add3(h2, cross(c1, f), cross(c, f1)), f1)
            W1 = accumulate_screw(bodies, b, WRENCH + 6, W1)
            accumulate_screw(bodies, p, WRENCH + 6, W1)
            result[1, i] = pair(S, W1) + pair(S1, W) + rotor * state[3, i]

            if order > 1:
                w3, v3 = load_screw(bodies, b, TWIST + 18)
                c4 = add3(
                    add(v3, cross(w3, c)),
                    scale(3, add(cross(w2, c1), cross(w1, c2))),
                    cross(w, c3),
                )
                f2 = scale(m, c4)
                w3s = add3(w3, scale(-2, cross(w, w2)), cross(w, cross(w, w1)))  # omega***
                h1ss = add3(
                    add(symmetric_times(Theta, w3s), cross(w2s, h)),
                    scale(2, cross(w1, hs)),
                    cross(w, hss),
                )
                h3 = add3(h1ss, cross(w1, h1), cross(w, add(h1s, h2)))

                S2 = load_screw(bodies, b, SCREW + 12)
                m2 = add3(cross(c2, f), scale(2, cross(c1, f1)), cross(c, f2))
                W2 = accumulate_screw(bodies, b, WRENCH + 12, (add(h3, m2), f2))
                accumulate_screw(bodies, p, WRENCH + 12, W2)
                result[2, i] = pair(S, W2) + 2 * pair(S1, W1) + pair(S2, W) + rotor * state[4, i]


def _cycle(parents, joints, gravity, order, state, applied, trig, bodies, result):
    """One state: sines and cosines, the applied wrenches (n, 18), and the recursion."""
    store_trig(joints, state, trig)
    for i in range(parents.shape[0]):
        for k in range(18):
            bodies[i + 1, WRENCH + k] = -applied[i, k]
    for k in range(18):
        bodies[0, WRENCH + k] = 0.0
    inverse_dynamics_recursion(parents, joints, gravity, trig, state, order, bodies, result)


inverse_dynamics_cycle = compiled(_cycle)


def _batch(parents, joints, gravity, order, bases, states, applied, trig, bodies, results):
    """A batch of states; `bodies` has a block per state, or a single one that each overwrites."""
    for k in range(states.shape[0]):
        block = bodies[k % bodies.shape[0]]
        block[0, :WRENCH] = bases[k]
        inverse_dynamics_cycle(
            parents, joints, gravity, order, states[k], applied[k], trig, block, results[k]
        )


_compiled_batch = compiled(_batch)


def inverse_dynamics(
    model: MultibodyModel,
    q: Any,
    qd: Any,
    qdd: Any,
    qddd: Any | None = None,
    qdddd: Any | None = None,
    *,
    wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
    representation: Representation = "spatial",
) -> InverseDynamics:
    """Joint torques of a motion and their first and second time derivatives, [M21] Algorithm 3.

    Parameters
    ----------
    q, qd, qdd, qddd, qdddd : (..., n), rad or m and per s^k; leading dimensions broadcast.
        Without `qddd` only tau is computed, without `qdddd` no tau_ddot.
    wrenches : {body or frame name: (..., 6) or (..., 3, 6)}, what the world applies to that body,
        in inertial axes about the inertial origin, and its two time derivatives (default zero).
        (3, 6) is always one wrench with rates, never a batch of three.
    base : motion of the base; at rest if None.
    representation : the torques do not depend on it; it is accepted as by every function.

    Raises InputError for wrong shapes or names, gaps (`qdddd` without `qddd`), and NaN or infinity.
    """
    rows = (q, qd, qdd, qddd, qdddd)
    return _evaluate(model, rows, wrenches, base, representation, keep=False)[0]


def interbody_wrenches(
    model: MultibodyModel,
    q: Any,
    qd: Any,
    qdd: Any,
    qddd: Any | None = None,
    qdddd: Any | None = None,
    *,
    wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> Array:
    """What each joint transmits to its body, with rates: (..., n, k, 6), [M21] (30).

    k is 1, 2 or 3, as far as `qddd` and `qdddd` are given. Inertial axes and origin,
    gravity included. Arguments and errors as :func:`inverse_dynamics`.
    """
    given = (q, qd, qdd, qddd, qdddd)
    tau, bodies = _evaluate(model, given, wrenches, base, "spatial", keep=True)
    rates = 1 + (tau.tau_dot is not None) + (tau.tau_ddot is not None)
    rows = bodies[:, 1:, WRENCH : WRENCH + 6 * rates]
    return rows.reshape(*tau.tau.shape, rates, 6)


def _evaluate(
    model: MultibodyModel,
    rows: Sequence[Any],
    wrenches: Wrenches | None,
    base: BaseMotion | None,
    representation: str,
    keep: bool,
) -> tuple[InverseDynamics, Array]:
    check_representation(representation)
    n = model.n
    states, shape, given = as_state(model.joint_names, *rows)
    if given < 3:
        raise InputError(f"inverse dynamics needs {STATE_ROWS[given]}")
    order = given - 3
    applied = wrench_rows(model, wrenches)
    bases = base_rows(base)
    full = broadcast_shapes(
        ("states", "wrenches", "base"), (shape, applied.shape[:-2], bases.shape[:-1])
    )
    states = spread(states.reshape(*shape, 5, n), full, (5, n))
    applied = spread(applied, full, (n, 18))
    bases = spread(bases, full, (WRENCH,))
    count = len(states)
    results = np.zeros((count, 3, n))
    bodies = np.zeros((count if keep else 1, n + 1, BODY_ROW))
    constants = (model.parents, model.joint_rows, model.gravity, order)
    if IS_COMPILED:
        trig = np.empty((2, n))
        _compiled_batch(*constants, bases, states, applied, trig, bodies, results)
    else:  # the whole batch at once, an array of N numbers being the scalar
        bodies = np.zeros((n + 1, BODY_ROW, count))
        bodies[0, :WRENCH] = bases.T
        bodies[1:, WRENCH:] = -applied.transpose(1, 2, 0)
        state = states.transpose(1, 2, 0)
        trig = batch_trig(model.joint_rows, state)
        result = np.zeros((3, n, count))
        inverse_dynamics_recursion(*constants[:3], trig, state, order, bodies, result)
        results, bodies = result.transpose(2, 0, 1), bodies.transpose(2, 0, 1)
    values = (np.ascontiguousarray(results[:, k]).reshape(*full, n) for k in range(3))
    tau, tau_dot, tau_ddot = values
    rates = tau_dot if order > 0 else None, tau_ddot if order > 1 else None
    return InverseDynamics(tau, *rates), bodies


def generic_inverse_dynamics(
    model: MultibodyModel,
    q: Sequence[Any],
    qd: Sequence[Any],
    qdd: Sequence[Any],
    qddd: Sequence[Any] | None = None,
    qdddd: Sequence[Any] | None = None,
    *,
    wrenches: Mapping[str, Any] | None = None,
    sin: Callable[[Any], Any] = np.sin,
    cos: Callable[[Any], Any] = np.cos,
) -> NDArray[Any]:
    """The same recursion over any scalars, never compiled: Q, Q', Q'' as far as determined.

    The result is (k, n), k = 1 for q, qd and qdd, 2 with `qddd`, 3 with `qdddd` too. Each row holds
    n scalars: complex (derivatives by complex step), mpmath.mpf with `sin=mpmath.sin,
    cos=mpmath.cos` (exact references), casadi.SX (code generation), or NumPy arrays (a batch).
    `wrenches` is {body name: 3 rows of 6 scalars}.

    Raises InputError for gaps (`qdddd` without `qddd`), and for wrong lengths and names; nothing
    else is checked.
    """
    n = model.n
    rows = {
        name: row
        for name, row in zip(STATE_ROWS, (q, qd, qdd, qddd, qdddd), strict=True)
        if row is not None
    }
    for name in STATE_ROWS[: max(len(rows), 3)]:
        if name not in rows:
            raise InputError(f"inverse dynamics needs {name}; given: {', '.join(rows) or 'none'}")
        if len(rows[name]) != n:
            raise InputError(f"{name}: expected {n} scalars, got {len(rows[name])}")
    order = len(rows) - 3
    state = np.zeros((5, n), dtype=object)
    for k, row in enumerate(rows.values()):
        for i in range(n):
            state[k, i] = row[i]
    joints = model.joint_rows.astype(object)
    trig = np.empty((2, n), dtype=object)
    for i in range(n):
        angle = joints[i, ANGULAR] * state[0, i]
        trig[:, i] = sin(angle), cos(angle)
    bodies = np.zeros((n + 1, BODY_ROW), dtype=object)
    bodies[0, :WRENCH] = base_rows(None)
    for body, W in (wrenches or {}).items():
        b = model.body_index(body) + 1
        for k in range(18):
            bodies[b, WRENCH + k] -= W[k // 6][k % 6]
    result = np.zeros((order + 1, n), dtype=object)
    gravity = model.gravity.astype(object)
    inverse_dynamics_recursion(model.parents, joints, gravity, trig, state, order, bodies, result)
    return result


def _copy_rows(state, scratch, q, qd, qdd, qddd, qdddd):
    """The rows into `state` if they are finite and of its length; otherwise it stays as it was.

    By way of `scratch` (5, n), as the rows may be those of `state` itself in another order.
    """
    rows = (q, qd, qdd, qddd, qdddd)
    for k in range(5):
        if rows[k].shape != state[k].shape:
            return False
        for i in range(state.shape[1]):
            if not isfinite(rows[k][i]):
                return False
            scratch[k, i] = rows[k][i]
    state[:] = scratch
    return True


_fill = compiled(_copy_rows)


class InverseDynamicsSolver:
    """Q, Q' and Q'' in the control cycle: own buffers, compiled, no allocation after construction.

    >>> solver = InverseDynamicsSolver(model)
    >>> tau, tau_dot, tau_ddot = solver(q, qd, qdd, qddd, qdddd)

    or, without any copy: fill `solver.state` (5, n), call `solver.update()`, read `solver.result`
    (3, n). `solver.applied_wrenches` (n, 3, 6) is what the world applies to each body, with rates,
    in inertial axes about the inertial origin; it stays as it was set. `solver.interbody_wrenches`
    (n, 3, 6) is what each joint transmits. The results are views that the next call overwrites.
    The base is at rest in the inertial frame until `set_base` gives it a motion.

    Every `representation` is computed by the spatial recursion for now; Q does not depend on it.

    The constructor compiles and warms up; from the second start on, the machine code comes from the
    disk. An instance is for one thread. `update()` checks nothing: NaN in, NaN out.
    """

    def __init__(self, model: MultibodyModel, representation: Representation = "spatial") -> None:
        self.model = model
        self.representation = check_representation(representation)
        n = model.n
        self.state: Array = np.zeros((5, n))
        self.result: Array = np.zeros((3, n))
        self.applied_wrenches: Array = np.zeros((n, 3, 6))
        bodies = np.zeros((n + 1, BODY_ROW))
        self._base = bodies[0, :WRENCH]
        self.set_base(None)
        self.interbody_wrenches: Array = bodies[1:, WRENCH:].reshape(n, 3, 6)
        self._results = tuple(self.result)
        self._scratch = np.empty((5, n))
        self.update = partial(
            inverse_dynamics_cycle,
            model.parents,
            model.joint_rows,
            model.gravity,
            2,
            self.state,
            self.applied_wrenches.reshape(n, 18),
            np.empty((2, n)),
            bodies,
            self.result,
        )
        self.update()
        self(*np.zeros((5, n)))
        if IS_COMPILED:
            _fill.disable_compile()  # type: ignore[attr-defined]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__dict__:  # the recursion would go on with the old buffer
            raise AttributeError(f"{name} is fixed; write into it: solver.{name}[:] = ...")
        super().__setattr__(name, value)

    def set_base(self, base: BaseMotion | None) -> None:
        """The motion of the base from the next call on, until it is set again; None: at rest.

        Raises InputError for a batch and for what is no motion; nothing has changed then. Unlike
        the calls, it allocates.
        """
        row = base_rows(base)
        if row.ndim != 1:
            raise InputError(f"base: expected a single motion, got a batch {row.shape[:-1]}")
        self._base[:] = row

    def __call__(
        self, q: Any, qd: Any, qdd: Any, qddd: Any, qdddd: Any
    ) -> tuple[Array, Array, Array]:
        """Q, Q', Q'' (n,) each, as views of `result`, for a state of five (n,) arrays.

        Raises InputError for a wrong length, NaN or infinity; nothing has changed then.
        """
        rows = (q, qd, qdd, qddd, qdddd)
        try:
            accepted = IS_COMPILED and _fill(self.state, self._scratch, *rows)
        except TypeError:  # lists, float32, strided: not for machine code
            accepted = False
        if not accepted:
            shape = (self.model.n,)
            checked = [
                as_array(name, row, shape, self.model.joint_names)
                for name, row in zip(STATE_ROWS, rows, strict=True)
            ]
            for name, row in zip(STATE_ROWS, checked, strict=True):
                if row.shape != shape:
                    raise InputError(f"{name}: expected shape {shape}, got {row.shape}")
            self.state[:] = np.stack(checked)  # a copy: they may be rows of the state
        self.update()
        return self._results
