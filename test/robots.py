# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Robots for the tests: the Panda, random robots without zeros, and their Pinocchio twins."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from multibody_dynamics.dynamics import so3
from multibody_dynamics.dynamics.core.inputs import Array
from multibody_dynamics.dynamics.lie.se3 import exp, from_rotation_translation, inverse
from multibody_dynamics.dynamics.model import inertia, joints
from multibody_dynamics.dynamics.model.multibody_model import MultibodyModel, model_from_screws
from multibody_dynamics.dynamics.model.urdf import load_urdf
from multibody_dynamics.dynamics.rigid.kinematics import BaseMotion

CONFIG = Path(__file__).parents[1] / "config"
PANDA = CONFIG / "robots" / "panda.urdf"
TILTED = (1.7, -3.1, -8.9)
SCARA = """<robot name="scara"><link name="base"/>
<link name="upper"><inertial><origin xyz="0.2 0 0"/><mass value="3"/>
<inertia ixx="0.01" iyy="0.05" izz="0.05" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="fore"><inertial><origin xyz="0.1 0 0.02"/><mass value="2"/>
<inertia ixx="0.01" iyy="0.03" izz="0.03" ixy="0" ixz="0" iyz="0"/></inertial></link>
<link name="quill"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.002" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="shoulder" type="continuous"><parent link="base"/><child link="upper"/>
<axis xyz="0 0 1"/></joint>
<joint name="elbow" type="continuous"><parent link="upper"/><child link="fore"/>
<origin xyz="0.4 0 0" rpy="0 0.3 0"/><axis xyz="0 0.6 0.8"/></joint>
<joint name="lift" type="prismatic"><parent link="fore"/><child link="quill"/>
<origin xyz="0.3 0 0"/><axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/>
</joint></robot>"""


@cache
def panda() -> MultibodyModel:
    """The Panda that the package ships."""
    return load_urdf(PANDA)


def sprung_five_bar(folder: Path) -> Path:
    """The file of the springs of config/mechanisms/five_bar.urdf, with springs at its elbows."""
    own = (CONFIG / "mechanisms" / "five_bar.yaml").read_text()
    file = folder / "five_bar.yaml"
    file.write_text(
        f"{own}\npassive_springs: {{left_elbow: {{stiffness: 5.0, rest: -1.5, damping: 0.1}},"
        " right_elbow: {stiffness: 5.0, rest: 0.7}}\n"
    )
    return file


def random_inertia(rng: np.random.Generator) -> Array:
    """Spatial inertia (6, 6) of twelve point masses: physically possible, without zero entries."""
    points = rng.normal(scale=0.15, size=(12, 3)) * rng.uniform(0.3, 1, 3) + rng.normal(0, 0.1, 3)
    masses = rng.uniform(0.05, 0.6, 12)
    return sum(
        inertia.spatial_inertia(m, p, np.zeros((3, 3))) for m, p in zip(masses, points, strict=True)
    )


def random_pose(rng: np.random.Generator, reach: float = 0.4) -> Array:
    return from_rotation_translation(so3.exp(rng.normal(size=3)), rng.uniform(-reach, reach, 3))


def random_screw(rng: np.random.Generator, kind: str) -> Array:
    """A joint screw with a random axis, some decimetres away from the origin."""
    axis, point = rng.normal(size=3), rng.uniform(-0.5, 0.5, 3)
    if kind == "prismatic":
        return joints.prismatic(axis)
    pitch = rng.uniform(0.05, 0.3) * rng.choice((-1, 1)) if kind == "helical" else 0.0
    return joints.helical(axis, point, pitch)


def random_tree(
    n: int,
    seed: int,
    kinds: Sequence[str] = ("revolute", "prismatic", "helical"),
    branching: float = 0.4,
    gravity: Sequence[float] = TILTED,
) -> MultibodyModel:
    """A random tree of n bodies with general axes and poses, and full inertias.

    `branching` is the probability that a body is not mounted on the previous one; the numbering is
    then not depth-first. `branching=0` gives a chain. Equal arguments give equal robots.
    """
    rng = np.random.default_rng(seed)
    parents = [
        int(rng.integers(-1, i)) if i and rng.random() < branching else i - 1 for i in range(n)
    ]
    chosen = [str(rng.choice(kinds)) for _ in range(n)]
    return model_from_screws(
        parents,
        [random_screw(rng, kind) for kind in chosen],
        [random_pose(rng) for _ in range(n)],
        [random_inertia(rng) for _ in range(n)],
        gravity=gravity,
        name=f"tree{seed}",
    )


def aligned_model(seed: int, n: int = 5) -> MultibodyModel:
    """A tree whose numbers are all small multiples of a power of two, exact in float64."""
    rng = np.random.default_rng(seed)
    eighths = lambda *shape: rng.integers(-8, 9, shape) / 8  # noqa: E731
    parents = [-1, *(int(rng.integers(-1, i)) for i in range(1, n))]
    screws, poses, bodies = [], [], []
    for i in range(n):
        axis, kind = rng.permutation(np.diag([1.0, -1.0, 1.0]))[0], i % 3
        point = np.cross(eighths(3), axis)
        pitch = [0, 0.25][kind == 1] * axis
        screws.append(np.r_[0 * axis, axis] if kind == 2 else np.r_[axis, point + pitch])
        turn = rng.permutation(np.eye(3))
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = turn * np.linalg.det(turn), eighths(3)
        poses.append(pose)
        B = eighths(3, 3)
        particle_moments = B @ B.T
        about_com = np.trace(particle_moments) * np.eye(3) - particle_moments
        bodies.append(inertia.spatial_inertia(2.0 ** rng.integers(-2, 3), eighths(3), about_com))
    return model_from_screws(parents, screws, poses, bodies, gravity=(1.25, -2.5, -9.75))


def two_link_planar(l1: float = 1.0, l2: float = 0.7) -> MultibodyModel:
    """Two point masses of 1.5 and 0.8 kg at the ends of rods that turn about y; gravity along -z.

    At q = 0 the rods lie along x. A textbook example with known equations of motion.
    """
    y = (0, 1, 0)
    point = np.zeros((3, 3))
    return model_from_screws(
        (-1, 0),
        [joints.revolute(y), joints.revolute(y, (l1, 0, 0))],
        [np.eye(4), from_rotation_translation(np.eye(3), (l1, 0, 0))],
        [
            inertia.spatial_inertia(1.5, (l1, 0, 0), point),
            inertia.spatial_inertia(0.8, (l2, 0, 0), point),
        ],
        joint_names=("shoulder", "elbow"),
        body_names=("upper_arm", "forearm"),
        name="two_link_planar",
    )


def singular_arm() -> MultibodyModel:
    """A point mass that the second joint, which slides, carries onto the axis of the first one at
    q = (any, -1)."""
    point = inertia.spatial_inertia(1.0, (1.0, 0, 0), np.zeros((3, 3)))
    screws = [[0, 0, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0]]
    return model_from_screws([-1, 0], screws, [np.eye(4)] * 2, [0 * point, point])


def with_multidof(seed: int = 3) -> MultibodyModel:
    """A branched robot with joints of several degrees of freedom: 6 bodies with mass, 16 joints."""
    rng = np.random.default_rng(seed)
    return model_from_screws(
        (-1, 0, 1, 1, 3, 2),
        [
            joints.planar((0.1, -0.2, 1), rng.normal(0, 0.3, 3)),
            joints.universal(rng.normal(0, 0.3, 3), (1, 0.2, 0), (0, 0.9, 0.4)),
            joints.cylindrical((0.3, 0.1, -0.8), rng.normal(0, 0.3, 3)),
            joints.spherical(rng.normal(0, 0.3, 3)),
            joints.revolute((0.2, 1, 0.1), rng.normal(0, 0.3, 3)),
            np.concatenate(
                [joints.universal((0.4, 0, 0.2), (0, 1, 0), (0, 0, 1)),
                 joints.helical((1, 1, 0), (0.1, 0.2, 0.6), 0.12)[None],
                 joints.cylindrical((0, 0.6, 0.8), (0.3, 0, 0.1))]
            ),
        ],
        [random_pose(rng) for _ in range(6)],
        [random_inertia(rng) for _ in range(6)],
        joint_names=("base", "shoulder", "slide", "ball", "elbow", "wrist"),
        gravity=TILTED,
        name="multidof",
    )  # fmt: skip


def random_state(model: MultibodyModel, seed: int = 0, scale: float = 1.0) -> Array:
    """q, q', q'', q''', q'''' as (5, n)."""
    return np.random.default_rng(seed).uniform(-1, 1, (5, model.n)) * scale


def draw(model: MultibodyModel, count: int, *batch: int, seed: int = 1) -> Array:
    """`count` normal vectors (*batch, n), such as q, q', q''."""
    return np.random.default_rng(seed).normal(size=(count, *batch, model.n))


def random_base(seed: int, *batch: int) -> BaseMotion:
    """A random base pose with twist, acceleration, jerk and jounce (*batch, 6)."""
    rng = np.random.default_rng(seed)
    return BaseMotion(exp(rng.normal(size=(*batch, 6))), *rng.normal(size=(4, *batch, 6)))


def random_wrenches(
    model: MultibodyModel, *batch: int, rates: bool = True, seed: int = 2
) -> dict[str, Array]:
    """Wrenches on the second and the last body: with two rates (*batch, 3, 6), or (*batch, 6)."""
    shape = (*batch, 3, 6) if rates else (*batch, 6)
    bodies = (model.body_names[:2][-1], model.body_names[-1])
    values = 5 * np.random.default_rng(seed).normal(size=(2, *shape))
    return dict(zip(bodies, values, strict=True))


def with_rotors(model: MultibodyModel) -> MultibodyModel:
    """The robot with a different reflected inertia in every joint."""
    return model.with_reflected_inertia(np.linspace(0.1, 0.5, model.n))


class PinocchioTwin(NamedTuple):
    """A Pinocchio model of the same robot; `order[i]` is the position of joint i in its vectors."""

    model: pin.Model
    order: Array

    def to_pin(self, vector: Array) -> Array:
        """Reorder joint values along the last axis from our order to that of Pinocchio."""
        out = np.empty_like(vector)
        out[..., self.order] = vector
        return out

    def from_pin(self, vector: Array) -> Array:
        return np.asarray(vector)[..., self.order]


def to_pinocchio(model: MultibodyModel) -> PinocchioTwin:
    """The same robot as a Pinocchio model, with gravity, payloads, rotor inertias and body frames.

    Pinocchio needs depth-first numbering, so joints are added in that order. Its joint frame has
    the axes of our body frame, and its origin on the joint axis. Axes must be of unit length.
    """
    twin = pin.Model()
    twin.name = model.name
    twin.gravity = pin.Motion(np.asarray(model.gravity), np.zeros(3))
    order = np.full(model.n, -1)
    ids = {-1: 0}
    mounts = {-1: np.eye(4)}
    waiting = [i for i in range(model.n) if model.parents[i] < 0][::-1]
    while waiting:
        i = waiting.pop()
        waiting += [j for j in range(model.n) if model.parents[j] == i][::-1]
        p, A = int(model.parents[i]), model.poses[i]
        e, v = model.screws[i, :3], model.screws[i, 3:]
        rotates = np.any(e)
        np.testing.assert_allclose(np.linalg.norm(e if rotates else v), 1, rtol=1e-12)
        R = A[:3, :3]
        if not rotates:
            joint, point = pin.JointModelPrismaticUnaligned(R.T @ v), A[:3, 3]
        else:
            point, pitch = np.cross(e, v), float(e @ v)
            joint = (
                pin.JointModelHelicalUnaligned(R.T @ e, pitch)
                if model.joint_types[i] == "helical"
                else pin.JointModelRevoluteUnaligned(R.T @ e)
            )
        mounts[i] = from_rotation_translation(R, point)
        ids[i] = twin.addJoint(
            ids[p], joint, pin.SE3(inverse(mounts[p]) @ mounts[i]), model.joint_names[i]
        )
        order[i] = twin.joints[ids[i]].idx_v
        in_joint = inverse(mounts[i]) @ A
        mass, com, about_com = inertia.decompose(inertia.transform(model.inertias[i], in_joint))
        twin.appendBodyToJoint(ids[i], pin.Inertia(mass, com, about_com), pin.SE3.Identity())
        twin.addFrame(
            pin.Frame(model.body_names[i], ids[i], 0, pin.SE3(in_joint), pin.FrameType.BODY)
        )
    twin.armature = PinocchioTwin(twin, order).to_pin(np.array(model.reflected_inertia))
    return PinocchioTwin(twin, order)


def product_of_exponentials(model: MultibodyModel, q: Array) -> Array:
    """C_i = exp(Y_1 q_1) ... exp(Y_i q_i) A_i, [M21] (4), by SciPy's matrix exponential."""
    from scipy.linalg import expm

    poses = np.zeros((model.n, 4, 4))
    for i in range(model.n):
        C = np.eye(4)
        for j in model.path(i):
            Y = model.screws[j]
            generator = np.zeros((4, 4))
            generator[:3, :3], generator[:3, 3] = so3.hat(Y[:3]), Y[3:]
            C = C @ expm(generator * q[j])
        poses[i] = C @ model.poses[i]
    return poses


def deepest(model):
    return max(range(model.n), key=lambda body: len(model.path(body)))
