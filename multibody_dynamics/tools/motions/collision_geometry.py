# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Capsules around the collision geometry of a URDF, and exact checks of it, through Pinocchio.

Spheres, cylinders and capsules are each enclosed by a capsule, boxes and meshes by the capsule of
their bounding box. Meshes are searched for in the folder of the URDF and in the given folders.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ...dynamics import MultibodyModel
from ...dynamics.core import Array, InputError
from ...dynamics.identification import Capsules, capsules_with_pairs
from ...dynamics.motion import Reference

STEP = 0.02  # s between the configurations that are checked exactly
ROUND = {"Sphere", "Cylinder", "Capsule"}


class CollisionGeometry:
    """The collision geometry of a URDF, in the frames of a model's bodies."""

    def __init__(self, model: MultibodyModel, file: Path, folders: Sequence[Path] = ()) -> None:
        """Raises InputError, which names the file, if a mesh is missing or cannot be read."""
        import pinocchio as pin

        self._pin, self._model = pin, model
        where = [str(folder) for folder in (file.parent, *folders)]
        try:
            self._robot = pin.buildModelFromUrdf(str(file))
            self._shapes = pin.buildGeomFromUrdf(
                self._robot, str(file), pin.GeometryType.COLLISION, package_dirs=where
            )
        except (ValueError, RuntimeError) as error:
            raise InputError(f"{file}: collision geometry: {error}") from None
        self.capsules = self._capsules()

    def _capsules(self) -> Capsules:
        bodies, ends, radii = [], [], []
        for shape in self._shapes.geometryObjects:
            joint = self._robot.names[shape.parentJoint]
            start, end, radius = _enclosing(shape)
            pose = shape.placement.homogeneous
            bodies.append(-1 if shape.parentJoint == 0 else self._model.joint_index(joint))
            ends.append([pose[:3, :3] @ point + pose[:3, 3] for point in (start, end)])
            radii.append(radius)
        return capsules_with_pairs(self._model, bodies, ends, radii)

    def first_collision(self, motion: Reference) -> str | None:
        """The two shapes that touch first along a motion, and when; None if no shapes touch."""
        pin, shapes = self._pin, self._shapes
        pairs = shapes.copy()
        pairs.removeAllCollisionPairs()
        for a, b in self.capsules.pairs.tolist():
            pairs.addCollisionPair(pin.CollisionPair(a, b))
        data, found = self._robot.createData(), pairs.createData()
        count = int(np.ceil(motion.duration / STEP)) + 1
        for t in np.linspace(motion.start_time, motion.end_time, count).tolist():
            q = self._configuration(motion(t)[0])
            if pin.computeCollisions(self._robot, data, pairs, found, q, True):
                for k, pair in enumerate(pairs.collisionPairs):
                    if found.collisionResults[k].isCollision():
                        names = (pairs.geometryObjects[i].name for i in (pair.first, pair.second))
                        return f"{' and '.join(names)} collide at {t:.2f} s"
        return None

    def _configuration(self, q: Array) -> Array:
        result = self._pin.neutral(self._robot)
        for value, joint in zip(q, self._model.joint_names, strict=True):
            i = self._robot.getJointId(joint)
            at, size = self._robot.joints[i].idx_q, self._robot.joints[i].nq
            result[at : at + size] = value if size == 1 else (np.cos(value), np.sin(value))
        return np.asarray(result)


def collision_geometry(
    model: MultibodyModel, file: Path, folders: Sequence[Path] = ()
) -> CollisionGeometry | None:
    """The collision geometry of a URDF; None if it has none or Pinocchio is not installed.

    Raises InputError, which names the file, if its meshes cannot be read.
    """
    if ElementTree.parse(file).find("link/collision/geometry") is None:
        return None
    try:
        return CollisionGeometry(model, file, folders)
    except ImportError:
        return None


def _enclosing(shape: Any) -> tuple[Array, Array, float]:
    """Ends and radius of the capsule around a shape, in its own frame."""
    geometry = shape.geometry
    kind = type(geometry).__name__
    axis = np.array([0.0, 0.0, 1.0])
    if kind in ROUND:
        half = float(getattr(geometry, "halfLength", 0.0))
        return -half * axis, half * axis, float(geometry.radius)
    geometry.computeLocalAABB()
    box = geometry.aabb_local
    low, high = np.asarray(box.min_), np.asarray(box.max_)
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    along = int(half.argmax())
    reach = np.zeros(3)
    reach[along] = half[along]
    across = np.delete(half, along)
    return middle - reach, middle + reach, float(np.linalg.norm(across))
