"""Robots for the tests: off-axis joints, turned and displaced body frames, full inertias, trees.

And the way to Pinocchio, which is the oracle for every one of them.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.spatial.transform import Rotation

from multibody_dynamics import dynamics as dyn

ROOT = Path(__file__).parents[1]
PANDA = ROOT / "config" / "robots" / "panda.urdf"


def panda(**options):
    """The project's own Panda."""
    return dyn.load_urdf(PANDA, **options)


def random_inertia(rng):
    """That of six point masses, so that a real body could have it; (6, 6) about the frame's origin."""
    masses, points = rng.uniform(0.2, 1.0, 6), rng.normal(scale=0.3, size=(6, 3))
    com = masses @ points / masses.sum()
    arms = dyn.so3.hat(points - com)
    return dyn.spatial_inertia(masses.sum(), com, -np.einsum("k,kij->ij", masses, arms @ arms))


def random_pose(rng, scale=0.5):
    turn = Rotation.random(random_state=int(rng.integers(1 << 30))).as_matrix()
    return dyn.se3.from_rotation_translation(turn, rng.normal(scale=scale, size=3))


def random_tree(
    n, seed, kinds=("revolute", "prismatic", "helical"), branching=0.4, gravity=(1.2, -3.4, -8.7)
):
    """A tree of n joints of the given kinds; with `branching` = 0 a chain."""
    rng = np.random.default_rng(seed)
    parents = [-1]
    for i in range(1, n):
        parents.append(int(rng.integers(-1, i)) if rng.random() < branching else i - 1)
    screws = []
    for i in range(n):
        axis, point = rng.normal(size=3), rng.normal(scale=0.4, size=3)
        kind = kinds[(i + seed) % len(kinds)]
        screws.append(
            dyn.prismatic(axis)
            if kind == "prismatic"
            else dyn.helical(axis, point, 0.0 if kind == "revolute" else rng.uniform(0.05, 0.3))
        )
    poses = [random_pose(rng) for _ in range(n)]
    inertias = [random_inertia(rng) for _ in range(n)]
    return dyn.model_from_screws(parents, screws, poses, inertias, gravity=gravity)


def random_model(seed, n=6, **options):
    return random_tree(n, seed, **options)


def two_link_planar(length=1.0):
    """Two links of `length` that turn about y, hanging at q = 0, each with 2 kg at its middle."""
    rod = dyn.spatial_inertia(2.0, (0, 0, -length / 2), np.diag([0.2, 0.2, 0.01]))
    poses = [np.eye(4), dyn.se3.from_rotation_translation(np.eye(3), (0, 0, -length))]
    screws = [dyn.revolute((0, 1, 0)), dyn.revolute((0, 1, 0), (0, 0, -length))]
    return dyn.model_from_screws([-1, 0], screws, poses, [rod, rod])


def with_multidof(seed=1):
    """A floating body with a spherical and a universal joint on it: 11 joints, 8 massless bodies."""
    rng = np.random.default_rng(seed)
    point = rng.normal(scale=0.4, size=(3, 3))
    screws = [
        dyn.floating(point[0]),
        dyn.spherical(point[1]),
        dyn.universal(point[2], rng.normal(size=3), rng.normal(size=3)),
    ]
    poses = [random_pose(rng) for _ in range(3)]
    inertias = [random_inertia(rng) for _ in range(3)]
    return dyn.model_from_screws([-1, 0, 0], screws, poses, inertias, gravity=(1.2, -3.4, -8.7))


def to_pinocchio(model):
    """The same robot as a pin.Model whose joints are in our order, body frames as frames."""
    import pinocchio as pin

    robot = pin.Model()
    robot.gravity = pin.Motion(model.gravity, np.zeros(3))
    ids, placed = [], []
    for i in range(model.n):
        p = int(model.parents[i])
        parent_pose = np.eye(4) if p < 0 else model.poses[p]
        local = dyn.se3.Ad(dyn.se3.inverse(model.poses[i])) @ model.screws[i]
        e, v = local[:3], local[3:]
        if np.any(e):
            origin = np.cross(e, v) / (e @ e)
            pitch = float(e @ v / (e @ e))
            joint = (
                pin.JointModelHelicalUnaligned(e, pitch)
                if abs(pitch) > 1e-12
                else pin.JointModelRevoluteUnaligned(e)
            )
        else:
            origin, joint = np.zeros(3), pin.JointModelPrismaticUnaligned(v)
        offset = dyn.se3.from_rotation_translation(np.eye(3), origin)  # joint frame in the body
        base = parent_pose if p < 0 else parent_pose @ placed[p]
        placement = dyn.se3.inverse(base) @ model.poses[i] @ offset
        ids.append(
            robot.addJoint(ids[p] if p >= 0 else 0, joint, pin.SE3(placement), model.joint_names[i])
        )
        placed.append(offset)
        M = dyn.se3.coAd(dyn.se3.inverse(offset)) @ model.inertias[i]
        M = M @ dyn.se3.coAd(dyn.se3.inverse(offset)).T
        mass = M[5, 5]
        com = dyn.so3.vee(M[:3, 3:]) / mass if mass else np.zeros(3)
        about = M[:3, :3] + mass * dyn.so3.hat(com) @ dyn.so3.hat(com)
        robot.appendBodyToJoint(ids[-1], pin.Inertia(mass, com, about), pin.SE3.Identity())
        robot.addBodyFrame(model.body_names[i], ids[-1], pin.SE3(dyn.se3.inverse(offset)), 0)
    robot.armature[:] = model.reflected_inertia
    assert ids == list(range(1, model.n + 1))
    return robot
