# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Linearised equations of motion and their state-space form; [M18d] 6.1.

Near an operating point (q, q', q'', tau), with small deviations dq and dtau,

    M dq'' + G dq' + K dq = dtau,   G = dQ/dq' + viscous damping,   K = dQ/dq.

With the state x = (dq, dq') and the input u = dtau this is the linear system

    x' = A x + B u,   y = C x + D u;   A = [[0, 1], [-M^-1 K, -M^-1 G]],   B = [[0], [M^-1]].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core import Array, InputError, as_array, broadcast_shapes, check_sequence, read_only
from ..model import MultibodyModel
from .aba import forward_dynamics
from .articulated_inertia import articulated_bodies
from .derivatives import inverse_dynamics_derivatives
from .jacobians import jacobian
from .kinematics import BaseMotion, base_rows
from .rnea import inverse_dynamics
from .wrenches import Wrenches, wrench_rows

if TYPE_CHECKING:
    from scipy.signal import StateSpace

JOINT_OUTPUTS = ("q", "qd", "qdd")
DISPLACEMENT = ("rx", "ry", "rz", "x", "y", "z")


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearModel:
    """x' = A x + B u, y = C x + D u for deviations from an operating point.

    For n joints, m inputs and k outputs. All arrays are read-only.

    Attributes
    ----------
    A, B, C, D : (..., 2n, 2n), (..., 2n, m), (..., k, 2n), (..., k, m).
    mass, damping, stiffness : (..., n, n) of mass dq'' + damping dq' + stiffness dq = dtau.
    states, inputs, outputs : names, "joint1.q" ... "joint1.qd" ..., "joint1.tau" ...
    q, qd, qdd, tau : (..., n), the operating point. It is an equilibrium if qd and qdd are zero;
        otherwise the state is the deviation from the motion that passes through it.
    """

    A: Array
    B: Array
    C: Array
    D: Array
    mass: Array
    damping: Array
    stiffness: Array
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    q: Array
    qd: Array
    qdd: Array
    tau: Array

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if isinstance(value, np.ndarray):
                object.__setattr__(self, item.name, read_only(value))

    @property
    def matrices(self) -> tuple[Array, Array, Array, Array]:
        """(A, B, C, D), for instance for `control.ss(*linear.matrices)`."""
        return self.A, self.B, self.C, self.D

    def to_scipy(self) -> StateSpace:
        """The system as a SciPy StateSpace; InputError for a batch of operating points."""
        from scipy.signal import StateSpace  # slow to import, and not needed for control

        if self.A.ndim != 2:
            raise InputError(
                "to_scipy: expected a single operating point, got a batch of shape "
                f"{self.A.shape[:-2]}"
            )
        return StateSpace(*self.matrices)


class _OperatingPoint(NamedTuple):
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    damping: Array


def linearize(
    model: MultibodyModel, q: Any, qd: Any | None = None, *, tau: Any | None = None,
    qdd: Any | None = None, damping: Any | None = None, inputs: Sequence[str] | None = None,
    outputs: Sequence[str] = ("q", "qd"), wrenches: Wrenches | None = None,
    base: BaseMotion | None = None,
) -> LinearModel:  # fmt: skip
    """Linearise the robot about an operating point, which need not be an equilibrium.

    Parameters
    ----------
    q, qd : (..., n), rad or m and per s; at rest if `qd` is None. Leading dimensions broadcast.
    tau, qdd : (..., n), at most one of the two: the joint torques, or the joint acceleration.
        Without either, tau is the torque for which qdd = 0.
    damping : (..., n) viscous, N m s/rad or N s/m; default zero. It is part of the plant, and tau
        is the torque of the motors. Reflected rotor inertias are those of the model.
    inputs : names of the joints with a motor (default: all); the other torques stay constant.
    outputs : any of "q", "qd", "qdd" (of all joints), and names of bodies or frames, with six
        outputs each: the rotation vector and the displacement of the origin, in inertial axes.
    wrenches, base : as in :func:`.inverse_dynamics`. The wrenches stay constant in inertial axes
        about the inertial origin, and the motion of the base does not depend on the joints.

    Raises InputError for wrong shapes or names, NaN or infinity, both tau and qdd, or a joint
    listed twice in `inputs`; DynamicsError if the mass matrix is singular.
    """
    n, names = model.n, model.joint_names
    check_sequence("outputs", outputs, "names")
    motors = _motors(model, inputs)
    world: Any = {"wrenches": wrenches, "base": base}
    q, qd, qdd, tau, d = _operating_point(model, q, qd, tau, qdd, damping, world)
    K, G, M = inverse_dynamics_derivatives(model, q, qd, qdd, **world)
    G = G + d[..., None] * np.eye(n)
    shape = G.shape[:-2]

    inverse = articulated_bodies(model, q).inverse()
    by_state = -inverse @ np.concatenate(np.broadcast_arrays(K, G), axis=-1)
    by_input = np.broadcast_to(inverse[..., motors], (*shape, n, len(motors)))
    A, B = np.zeros((*shape, 2 * n, 2 * n)), np.zeros((*shape, 2 * n, len(motors)))
    A[..., :n, n:], A[..., n:, :], B[..., n:, :] = np.eye(n), by_state, by_input
    C, D = [np.zeros((*shape, 0, 2 * n))], [np.zeros((*shape, 0, len(motors)))]
    measured: list[str] = []
    for output in outputs:
        gains, labels = _output(model, q, base, output, A)
        C.append(np.broadcast_to(gains, (*shape, *gains.shape[-2:])))
        D.append(by_input if output == "qdd" else np.zeros((*shape, len(labels), len(motors))))
        measured += labels
    point = {"q": q, "qd": qd, "qdd": qdd, "tau": tau}
    return LinearModel(
        A=A,
        B=B,
        C=np.concatenate(C, axis=-2),
        D=np.concatenate(D, axis=-2),
        mass=np.broadcast_to(M, G.shape),
        damping=G,
        stiffness=np.broadcast_to(K, G.shape),
        states=(*_labels(names, "q"), *_labels(names, "qd")),
        inputs=tuple(_labels([names[i] for i in motors], "tau")),
        outputs=tuple(measured),
        **{name: np.broadcast_to(row, (*shape, n)) for name, row in point.items()},
    )


def _motors(model: MultibodyModel, inputs: Sequence[str] | None) -> list[int]:
    """The indices of the joints that are inputs."""
    joints = model.joint_names if inputs is None else inputs
    check_sequence("inputs", joints, "joints")
    motors = [model.joint_index(joint) for joint in joints]
    if len(set(motors)) < len(motors):
        raise InputError(f"inputs: {list(joints)} names a joint twice")
    return motors


def _operating_point(
    model: MultibodyModel, q: Any, qd: Any, tau: Any, qdd: Any, damping: Any, world: dict[str, Any]
) -> _OperatingPoint:
    """The checked operating point, with tau from qdd or qdd from tau."""
    n, names = model.n, model.joint_names
    zero = np.zeros(n)
    q = as_array("q", q, (n,), names)
    qd = as_array("qd", zero if qd is None else qd, (n,), names)
    d = as_array("damping", zero if damping is None else damping, (n,), names)
    if tau is not None and qdd is not None:
        raise InputError("tau and qdd: give at most one of the two; each determines the other")
    known, value = ("qdd", zero if qdd is None else qdd) if tau is None else ("tau", tau)
    value = as_array(known, value, (n,), names)
    lead = [row.shape[:-1] for row in (q, qd, d, value, base_rows(world["base"]))]
    lead.append(wrench_rows(model, world["wrenches"]).shape[:-2])
    broadcast_shapes(("q", "qd", "damping", known, "base", "wrenches"), lead)
    if tau is None:
        tau = inverse_dynamics(model, q, qd, value, **world).tau + d * qd
        return _OperatingPoint(q, qd, value, tau, d)
    qdd = forward_dynamics(model, q, qd, value - d * qd, **world)
    return _OperatingPoint(q, qd, qdd, value, d)


def _output(
    model: MultibodyModel, q: Array, base: BaseMotion | None, output: str, A: Array
) -> tuple[Array, list[str]]:
    """The rows of C that belong to one output, and their names."""
    n = model.n
    if output in JOINT_OUTPUTS:
        rows = {"q": np.eye(n, 2 * n), "qd": np.eye(n, 2 * n, n), "qdd": A[..., n:, :]}
        return rows[output], _labels(model.joint_names, output)
    if output not in model.frames:
        raise InputError(
            f"outputs: '{output}' is neither {', '.join(JOINT_OUTPUTS)} nor a body or frame of "
            f"robot '{model.name}'"
        )
    J = jacobian(model, q, output, base=base, representation="hybrid")
    return np.concatenate([J, np.zeros_like(J)], axis=-1), [f"{output}.{k}" for k in DISPLACEMENT]


def _labels(joints: Sequence[str], quantity: str) -> list[str]:
    return [f"{joint}.{quantity}" for joint in joints]
