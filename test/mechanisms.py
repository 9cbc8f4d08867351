# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Closed mechanisms for the tests, and their dynamics with 40 digits by an independent route.

The reference does not use the library's wrench bases and multipliers: a closed joint keeps two
points together (three rows of A, in inertial axes) and may prevent rotations about directions
that follow from the axes on its two bodies. Its A, motion and torques are power series in time.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import mpmath as mp
import numpy as np
import pinocchio as pin

import reference as ref
from multibody_dynamics import dynamics as dyn
from multibody_dynamics.dynamics import se3, so3
from multibody_dynamics.dynamics.core.inputs import Array
from robots import random_inertia, random_tree, to_pinocchio

X, Y, Z = np.eye(3)
EYE = np.eye(4)
DOWN = (0.0, -9.81, 0.0)  # planar mechanisms move in the x-y plane


class Mechanism(NamedTuple):
    """A closed mechanism, and the constraints of the reference.

    start : a configuration close to a closed one.
    independent : joints that determine all others.
    held : {loop: directions of prevented rotations}, of whose constraints `rows` are kept.
    """

    system: dyn.mechanisms.ConstrainedModel
    start: Array
    independent: tuple[str, ...]
    held: dict[str, Callable[[np.ndarray, np.ndarray], list[np.ndarray]]]
    rows: slice | list[int] = slice(None)

    @property
    def q(self) -> Array:
        """The closed configuration nearest to the start."""
        return dyn.mechanisms.assemble(self.system, self.start, fixed=self.independent)

    def motion(self, seed: int = 0) -> tuple[Array, ...]:
        """A consistent motion q ... q'''' without zero entries."""
        rates = np.random.default_rng(seed).uniform(-1, 1, (5, self.system.n))
        rates[0] = self.q
        return dyn.mechanisms.consistent_motion(self.system, *rates, fixed=self.independent)

    def with_motors(self, *motors: str, **changes: Any) -> Mechanism:
        s = self.system
        return self._replace(
            system=dyn.mechanisms.ConstrainedModel(s.tree, s.constraints, motors, **changes)
        )

    def with_springs(self, **springs: tuple[float, float, float]) -> Mechanism:
        """Stiffness, rest and damping of passive joints."""
        given = {joint: dyn.mechanisms.PassiveSpring(*each) for joint, each in springs.items()}
        return self._replace(system=replace(self.system, springs=given))


def move(p: Any) -> Array:
    return se3.from_rotation_translation(np.eye(3), p)


def bar(length: float, mass: float = 1.2) -> Array:
    """A uniform bar along x of a planar mechanism, with a slightly offset centre of mass."""
    J = mass * length**2 / 12
    return dyn.spatial_inertia(mass, (length / 2, 0.02, 0), np.diag((0.1 * J, J, J)))


FOUR_BAR = (0.3, 0.8, 0.6, 1.0)  # crank, coupler, rocker, ground


def four_bar() -> Mechanism:
    """Planar crank, coupler and rocker, cut between coupler and rocker.

    The cut joint is a spatial one: three of its five constraints are redundant.
    """
    crank, coupler, rocker, ground = FOUR_BAR
    tree = dyn.model_from_screws(
        (-1, 0, -1),
        [dyn.revolute(Z), dyn.revolute(Z, (crank, 0, 0)), dyn.revolute(Z, (ground, 0, 0))],
        [EYE, move((crank, 0, 0)), move((ground, 0, 0))],
        [bar(crank), bar(coupler), bar(rocker)],
        joint_names=("crank", "coupler", "rocker"),
        body_names=("crank_bar", "coupler_bar", "rocker_bar"),
        gravity=DOWN,
        name="four_bar",
    )
    pin = dyn.mechanisms.LoopClosure(
        "pin", "coupler_bar", "rocker_bar", dyn.revolute(Z), move((coupler, 0, 0)),
        move((rocker, 0, 0)),
    )  # fmt: skip
    system = dyn.mechanisms.ConstrainedModel(tree, [pin], ("crank",))
    return Mechanism(system, np.array([0.7, -0.2, 1.7]), ("crank",), {"pin": none}, [0, 1])


def loop_on_a_loop() -> Mechanism:
    """A four-bar on a turret, which turns about the coupler of another four-bar."""
    crank, coupler, rocker, ground = FOUR_BAR
    foot = 0.5  # of the turret, along x
    places = {
        "crank": 0.0, "coupler": crank, "turret": foot, "crank2": foot, "coupler2": foot + crank,
        "rocker2": foot + ground, "rocker": ground,
    }  # fmt: skip
    tree = dyn.model_from_screws(
        (-1, 0, 1, 2, 3, 2, -1),
        [dyn.revolute(X if name == "turret" else Z, (x, 0, 0)) for name, x in places.items()],
        [move((x, 0, 0)) for x in places.values()],
        [bar(length) for length in (crank, coupler, 0.4, crank, coupler, rocker, rocker)],
        joint_names=tuple(places),
        gravity=DOWN,
        name="loop_on_a_loop",
    )
    pins = [
        dyn.mechanisms.LoopClosure(name, first, second, dyn.revolute(Z), move((coupler, 0, 0)),
                                   move((rocker, 0, 0)))
        for name, first, second in (("pin", "body2", "body7"), ("pin2", "body5", "body6"))
    ]  # fmt: skip
    motors = ("crank", "turret", "crank2")
    start = np.array([0.7, -0.2, 0.4, 0.7, -0.2, 1.7, 1.7])
    system = dyn.mechanisms.ConstrainedModel(tree, pins, motors)
    return Mechanism(system, start, motors, {"pin": none, "pin2": none}, [0, 1, 3, 4])


def five_bar(*motors: str) -> Mechanism:
    """The five-bar linkage of [K12] section 3.1: five joints, the last link welded to the base.

    Because it is planar, three of the six constraints are redundant.
    """
    lengths = (0.35, 0.5, 0.5, 0.35)
    ends = np.cumsum([0, *lengths])
    tree = dyn.model_from_screws(
        (-1, 0, 1, 2, 3),
        [dyn.revolute(Z, (x, 0, 0)) for x in ends],
        [move((x, 0, 0)) for x in ends],
        [*(bar(length) for length in lengths), bar(0.1)],
        joint_names=("a", "b", "c", "d", "e"),
        gravity=DOWN,
        name="five_bar",
    )
    weld = dyn.mechanisms.LoopClosure("weld", "base", "body5", (), move((0.6, 0, 0)))
    system = dyn.mechanisms.ConstrainedModel(tree, [weld], motors)
    start = np.array([1.9, -1.1, -1.6, -1.0, 1.8])
    return Mechanism(system, start, ("a", "e"), {"weld": all_axes}, [0, 1, 5])


def spatial_loop(cut: str = "spherical") -> Mechanism:
    """Crank, ball, coupler, universal joint, rocker: one degree of freedom in space.

    It can be cut at the ball or at the universal joint: two descriptions of the same mechanism.
    """
    rng = np.random.default_rng(8)
    bodies = [random_inertia(rng) for _ in range(3)]
    ball, cross = np.array((0.3, 0.1, 0.25)), np.array((0.9, 0.2, 0.6))
    first, second = np.array((0.2, 1.0, 0.1)), np.array((0.9, 0.0, -0.4))
    crank = dyn.revolute((0.1, 0.2, 1.0), (0.0, 0.0, 0.1))
    rocker = dyn.revolute((-0.3, 1.0, 0.2), (0.8, 0.1, 0.0))
    names = {"body_names": ("crank_bar", "rocker_bar", "coupler_bar")}
    if cut == "spherical":
        tree = dyn.model_from_screws(
            (-1, -1, 1), [crank, rocker, dyn.universal(cross, first, second)], [EYE] * 3, bodies,
            joint_names=("crank", "rocker", "cross"), name="cut_at_ball", **names,
        )  # fmt: skip
        loop = dyn.mechanisms.LoopClosure.at(
            tree, "ball", "coupler_bar", "crank_bar", dyn.spherical(), point=ball
        )
        held = {"ball": none}
    else:
        tree = dyn.model_from_screws(
            (-1, -1, 0), [crank, rocker, dyn.spherical(ball)], [EYE] * 3, bodies,
            joint_names=("crank", "rocker", "ball"), name="cut_at_cross", **names,
        )  # fmt: skip
        loop = dyn.mechanisms.LoopClosure.at(
            tree, "cross", "rocker_bar", "coupler_bar", dyn.universal((0, 0, 0), first, second),
            point=cross,
        )  # fmt: skip
        held = {"cross": across(first, second)}
    system = dyn.mechanisms.ConstrainedModel(tree, [loop], ("crank",))
    return Mechanism(system, 0.3 * np.eye(tree.n)[0], ("crank",), held)


def delta() -> Mechanism:
    """Three arms, each with a motor and universal elbow and wrist, that keep a platform level."""
    rng = np.random.default_rng(4)
    parents, screws, inertias, joints, bodies, where = [], [], [], [], [], []
    for k in range(3):
        turn = so3.exp((0, 0, 2 * np.pi * k / 3))
        shoulder, elbow, wrist = (turn @ p for p in ((0.2, 0, 0), (0.4, 0, -0.15), (0.06, 0, -0.6)))
        axis, along = turn @ Y, wrist - elbow
        other = np.cross(axis, along)
        base = len(parents)
        parents += [-1, base]
        screws += [dyn.revolute(axis, shoulder), dyn.universal(elbow, axis, other)]
        inertias += [random_inertia(rng), random_inertia(rng)]
        joints += [f"motor{k}", f"elbow{k}"]
        bodies += [f"arm{k}", f"rod{k}"]
        where.append((wrist, axis, other))
        if k == 0:
            parents.append(1)
            screws.append(dyn.universal(wrist, other, axis))
            inertias.append(random_inertia(rng))
            joints.append("wrist0")
            bodies.append("platform")
    tree = dyn.model_from_screws(
        parents, screws, [EYE] * 7, inertias, joint_names=joints, body_names=bodies, name="delta"
    )
    loops = [
        dyn.mechanisms.LoopClosure.at(
            tree, f"wrist{k}", f"rod{k}", "platform", dyn.universal((0, 0, 0), other, axis),
            point=wrist,
        )
        for k, (wrist, axis, other) in enumerate(where)
        if k
    ]  # fmt: skip
    motors = ("motor0", "motor1", "motor2")
    held = {f"wrist{k}": across(where[k][2], where[k][1]) for k in (1, 2)}
    start = np.array([0.15 if name in motors else 0.0 for name in tree.joint_names])
    start[0] = -0.1
    return Mechanism(dyn.mechanisms.ConstrainedModel(tree, loops, motors), start, motors, held)


def bricard(theta: float) -> dyn.mechanisms.ConstrainedModel:
    """The trihedral loop of Bricard, six hinges at right angles, closed at q = 0; link 6 is cut.

    It has six closure equations for six joints, and moves nevertheless: every other joint turns
    alike, and cos theta cos psi + cos theta + cos psi = 0 for neighbours. `theta` is that of joint
    1 at q = 0.
    """
    psi = np.arccos(-np.cos(theta) / (1 + np.cos(theta)))
    frames = [EYE]
    for k, angle in enumerate((theta, psi) * 3):
        turn = so3.exp((0, 0, angle)), so3.exp(((-1) ** k * np.pi / 2, 0, 0))
        step = se3.from_rotation_translation(turn[0] @ turn[1], turn[0] @ X)
        frames.append(frames[-1] @ step)
    np.testing.assert_allclose(frames[-1], EYE, atol=1e-12)
    rng = np.random.default_rng(3)
    tree = dyn.model_from_screws(
        range(-1, 4),
        [dyn.revolute(C[:3, 2], C[:3, 3]) for C in frames[:5]],
        [EYE] * 5,
        [random_inertia(rng) for _ in range(5)],
        name="bricard",
    )
    hinge = dyn.mechanisms.LoopClosure.at(
        tree, "hinge", "body5", "base", dyn.revolute(frames[5][:3, 2]), point=frames[5][:3, 3]
    )
    return dyn.mechanisms.ConstrainedModel(tree, [hinge], ("joint1",))


def none(C1: np.ndarray, C2: np.ndarray) -> list[np.ndarray]:
    return []


def all_axes(C1: np.ndarray, C2: np.ndarray) -> list[np.ndarray]:
    return [ref.constant(ref.exact(e), len(C1)) for e in np.eye(3)]


def across(first: Array, second: Array) -> Callable[..., list[np.ndarray]]:
    """The direction a universal joint constrains: normal to its axes on the two bodies."""

    def direction(C1: np.ndarray, C2: np.ndarray) -> list[np.ndarray]:
        a = C1[:, :3, :3] @ ref.exact(first)
        b = C2[:, :3, :3] @ ref.exact(second)
        c = cross(a, b)
        return [times(inverse_root(c), c)]

    return direction


# Power series of scalars and vectors


def times(s: np.ndarray, v: np.ndarray) -> np.ndarray:
    """A series of scalars times a series of anything."""
    count = min(len(s), len(v))
    return np.array([sum(s[j] * v[k - j] for j in range(k + 1)) for k in range(count)])


def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    count = min(len(a), len(b))
    return np.array([sum(np.cross(a[j], b[k - j]) for j in range(k + 1)) for k in range(count)])


def dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array([sum(a[j] @ b[k - j] for j in range(k + 1)) for k in range(len(a))])


def root(s: np.ndarray) -> np.ndarray:
    r = [mp.sqrt(s[0])]
    for k in range(1, len(s)):
        r.append((s[k] - sum(r[j] * r[k - j] for j in range(1, k))) / (2 * r[0]))
    return np.array(r)


def inverse_root(c: np.ndarray) -> np.ndarray:
    """1 / |c| of a series of vectors."""
    r = root(dot(c, c))
    return solve(r[:, None, None], ref.constant(ref.exact([[1]]), len(r)))[:, 0, 0]


def solve(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """The series A^-1 B of square matrices A and matrices B."""
    inverse = ref.exact((mp.matrix(A[0].tolist()) ** -1).tolist())
    solution: list[np.ndarray] = []
    for k in range(min(len(A), len(B))):
        rest = sum((A[j] @ solution[k - j] for j in range(1, k + 1)), start=0 * B[k])
        solution.append(inverse @ (B[k] - rest))
    return np.array(solution)


# The reference


def reference_matrix(mechanism: Mechanism, state: Any) -> np.ndarray:
    """A as a series (k, rows, n), from the joint derivatives `state` (k, n)."""
    tree = mechanism.system.tree
    moving = ref.motion(tree, state)
    count = len(moving.base)
    rows = []
    for loop in mechanism.system.constraints:
        poses = []
        for body, offset in ((loop.first, loop.first_pose), (loop.second, loop.second_pose)):
            index, frame = tree.frame(body)
            C = moving.base if index < 0 else moving.poses[index]
            poses.append(C @ ref.rigid(frame @ offset))
        sides = [
            (sign, tree.path(body) if tree.frame(body).body >= 0 else [])
            for sign, body in ((-1, loop.first), (1, loop.second))
        ]
        point = poses[0][:, :, 3:]
        bodies = []
        for body in (loop.first, loop.second):  # directions are given at q = 0, in inertial axes
            index = tree.frame(body).body
            at_zero = EYE if index < 0 else tree.poses[index]
            C = moving.base if index < 0 else moving.poses[index]
            bodies.append(C @ ref.inverse(ref.rigid(at_zero)[None])[0])
        directions = mechanism.held[loop.name](*bodies)
        block = np.zeros((count, 3 + len(directions), tree.n), dtype=object)
        for sign, path in sides:
            for j in path:
                S = moving.joints[j]
                block[:, :3, j] += sign * ref.times(S, point)[:, :3, 0]
                omega = ref.twist(S)[:, :3]
                for k, d in enumerate(directions):
                    block[:, 3 + k, j] += sign * dot(omega, d)
        rows.append(block)
    return np.concatenate(rows, axis=1)[:, mechanism.rows]


def reference_motion(mechanism: Mechanism, q: Any, rates: Any) -> np.ndarray:
    """q, q', ... (k + 1, n) with A q' = 0, from q (n,) and rates (k, n) of independent joints."""
    system = mechanism.system
    i = system.indices(mechanism.independent)
    d = np.setdiff1d(np.arange(system.n), i)
    state = [ref.exact(q)]
    for given in ref.exact(rates):
        state.append(given.copy())
        state[-1][d] = 0 * given[d]
        # derivative k of A q' = 0 is linear in q_d^(k+1)
        A = reference_matrix(mechanism, np.array(state))
        qd = ref.rate(ref.series(np.array(state)))
        left = ref.derivatives(ref.times(A, qd[..., None])[..., 0])[len(state) - 2]
        left = left + 0 * left
        inverse = ref.exact((mp.matrix(A[0][:, d].tolist()) ** -1).tolist())
        state[-1][d] = -(inverse @ left)
    return np.array(state)


def reference_torques(
    mechanism: Mechanism, state: np.ndarray, choice: str, passive: Any | None = None
) -> np.ndarray:
    """tau, tau', ... of the motors (k, n_a); `passive` are derivatives (k, n_p) of given torques.

    "minimum_force": those that minimise the norm of the transmitted wrenches. Otherwise, by virtual
    work, those of least norm with G_a^T tau_a = G^T tau_r - G_p^T tau_p, where q' = G s'.
    """
    system = mechanism.system
    a, p = system.actuated_indices, system.passive_indices
    i = system.indices(mechanism.independent)
    d = np.setdiff1d(np.arange(system.n), i)
    tau_r = ref.series(ref.dynamics(system.tree, state).torques)
    count, q = len(tau_r), ref.series(state)
    for j, name in enumerate(system.tree.joint_names):
        stiffness, rest, damping = map(mp.mpf, system.springs.get(name, (0, 0, 0)))
        for k in range(count):  # series: the rate of c_k t^k is k c_k t^(k - 1)
            bent = q[k, j] - (rest if k == 0 else 0)
            tau_r[k, j] += stiffness * bent + damping * (k + 1) * q[k + 1, j]
    tau_p = np.zeros((count, len(p)), dtype=object)
    if passive is not None:
        tau_p[:] = ref.series(passive)[:count]
    A = reference_matrix(mechanism, state)[:count]
    if choice == "minimum_force" and not len(p):
        tau = tau_r
    elif choice == "minimum_force":
        A_p, A_a = A[:, :, p], A[:, :, a]
        c = (tau_r[:, p] - tau_p)[..., None]
        multipliers = ref.times(A_p, solve(ref.times(ref.transpose(A_p), A_p), c))
        tau = tau_r[:, a] - ref.times(ref.transpose(A_a), multipliers)[..., 0]
    else:
        G = np.zeros((count, system.n, len(i)), dtype=object)
        G[0, i] = ref.exact(np.eye(len(i)))
        G[:, d] = -solve(A[:, :, d], A[:, :, i])
        work = ref.times(ref.transpose(G), tau_r[..., None])
        work = work - ref.times(ref.transpose(G[:, p]), tau_p[..., None])
        G_a = G[:, a]
        tau = ref.times(G_a, solve(ref.times(ref.transpose(G_a), G_a), work))[..., 0]
    return ref.derivatives(tau)


AXIS, POINT = (0.3, -0.5, 0.8), (0.2, 0.1, -0.4)
LOWER_PAIRS = {
    "weld": (),
    "revolute": dyn.revolute(AXIS, POINT),
    "prismatic": dyn.prismatic(AXIS),
    "helical": dyn.helical(AXIS, POINT, 0.1),
    "cylindrical": dyn.cylindrical(AXIS, POINT),
    "spherical": dyn.spherical(POINT),
    "planar": dyn.planar(AXIS, POINT),
}
CHAINS = {
    "universal": dyn.universal(POINT, AXIS, (1, 0, 0)),
    "universal not at right angles": dyn.universal(POINT, AXIS, (0.3, -0.5, 0.1)),
    "slide and ball": np.vstack([dyn.prismatic(AXIS), dyn.spherical(POINT)]),
    "two parallel hinges": np.stack([dyn.revolute(AXIS), dyn.revolute(AXIS, POINT)]),
}


JOINTS = LOWER_PAIRS | CHAINS
MECHANISMS = {
    "four_bar": four_bar(),
    "five_bar": five_bar("a", "e"),
    "cut at the ball": spatial_loop(),
    "cut at the cross": spatial_loop("universal"),
    "delta": delta(),
}


def loop_in_tree(free, seed=0, n=9):
    """A tree with a loop between its last body and another one, and a q that closes it."""
    tree = random_tree(n, seed, branching=0.3)
    q = np.random.default_rng(seed).uniform(-1, 1, n)
    other = next(b for i, b in enumerate(tree.body_names) if i not in tree.path(n - 1))
    loop = dyn.mechanisms.LoopClosure.at(
        tree, "loop", other, n - 1, free, point=(0.3, 0.1, -0.2), q=q
    )
    return dyn.mechanisms.ConstrainedModel(tree, [loop]), q


def pinocchio_acceleration(system, q, qd, tau, *, derivatives=False):
    """By Pinocchio's proximal solver, which supports welds and balls; or the derivatives of all
    joints by q, q' and tau, as if each joint could be displaced by itself."""
    twin = to_pinocchio(system.tree)
    model = twin.model
    constraints, work = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    for loop in system.constraints:
        sides = []
        for body, pose in ((loop.first, loop.first_pose), (loop.second, loop.second_pose)):
            index, offset = system.tree.frame(body)
            frame = model.frames[model.getFrameId(system.tree.body_names[index])]
            if index < 0:
                sides += [0, pin.SE3(offset @ pose)]
            else:
                sides += [frame.parentJoint, frame.placement * pin.SE3(offset @ pose)]
        kind = pin.ContactType.CONTACT_3D if len(loop.free) else pin.ContactType.CONTACT_6D
        local = pin.ReferenceFrame.LOCAL
        constraints.append(pin.RigidConstraintModel(kind, model, *sides, local))
        work.append(constraints[-1].createData())
    data = model.createData()
    pin.initConstraintDynamics(model, data, constraints, work)
    state = (twin.to_pin(row) for row in (q, qd, tau))
    settings = pin.ProximalSettings(1e-14, 1e-12, 50)
    qdd = pin.constraintDynamics(model, data, *state, constraints, work, settings)
    if not derivatives:
        return twin.from_pin(qdd)
    pin.computeConstraintDynamicsDerivatives(model, data, constraints, work, settings)
    return [twin.from_pin(twin.from_pin(J).T).T for J in (data.ddq_dq, data.ddq_dv, data.ddq_dtau)]


def closed_tree(
    seed: int, free: Any
) -> tuple[dyn.mechanisms.ConstrainedModel, Array, Array, Array]:
    """A tree of nine joints of all types with a loop, whose cut joint leaves the screws `free`;
    consistent q and q' (9,), and torques (9,) of all joints."""
    rng = np.random.default_rng(seed)
    tree = random_tree(9, seed, branching=0.3)
    ends = [name for i, name in enumerate(tree.body_names) if i not in tree.parents]
    q, qd, tau = rng.uniform(-1, 1, (3, 9))
    other = ends[0] if len(ends) > 1 else "base"
    loop = dyn.mechanisms.LoopClosure.at(tree, "loop", other, 8, free, point=(0.3, 0.2, 0.1), q=q)
    loop = dyn.mechanisms.LoopClosure(
        "loop", other, "body9", free, loop.first_pose, loop.second_pose
    )
    system = dyn.mechanisms.ConstrainedModel(tree, [loop])
    q, qd = dyn.mechanisms.consistent_motion(system, q, qd)
    return system, q, qd, tau


MOTORISED = {
    "four-bar": four_bar(),
    "four-bar, 3 motors": four_bar().with_motors("crank", "coupler", "rocker"),
    "five-bar": five_bar("a", "e"),
    "five-bar, motors at other joints": five_bar("b", "d"),
    "five-bar, 3 motors": five_bar("a", "c", "e"),
    "five-bar, springs": five_bar("a", "e").with_springs(b=(20.0, -1.4, 0.5), c=(9.0, 0.2, 0.0)),
    "five-bar, 3 motors, spring": five_bar("a", "c", "e").with_springs(d=(15.0, 0.3, 0.4)),
    "cut at the ball": spatial_loop(),
    "cut at the cross": spatial_loop("universal"),
    "delta": delta(),
    "loop on a loop": loop_on_a_loop(),
}
"""Mechanisms with motors, as many as there are degrees of freedom or more."""
