# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What the bodies of a robot look like: the visuals of its URDF, or capsules where there are none.

Mesh files are searched for beside the URDF and in the folders above it, in the given folders, and
in the packages of AMENT_PREFIX_PATH and ROS_PACKAGE_PATH.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from ...dynamics.core import Array
from ...dynamics.identification import link_skeleton
from ...dynamics.lie import se3
from ...dynamics.model import MultibodyModel, urdf_document
from ..robot.urdf_text import origin_pose

PLAIN = (206, 211, 217)  # colour of shapes that have none
JOINT = (120, 128, 138)  # of the joints between capsules
SLENDER = 0.045  # radius of capsules, as a share of the mean distance between joints
WIDE = 1.35  # radius of the cylinder around a joint, relative to that of the capsules


class Shape(NamedTuple):
    """A triangle mesh in the frame of a body (-1: base): vertices (k, 3) m, faces (f, 3), RGB."""

    body: int
    vertices: Array
    faces: NDArray[np.int64]
    colour: tuple[int, int, int]


class RobotShapes(NamedTuple):
    """All shapes of a robot, and the mesh files that were not found or not readable."""

    shapes: list[Shape]
    missing: list[str]


def robot_shapes(
    model: MultibodyModel,
    urdf: str | bytes = "",
    folder: Path | None = None,
    folders: Sequence[Path] = (),
) -> RobotShapes:
    """The shapes of a robot.

    urdf : text of its description; "": capsules for all bodies. folder : that of the URDF file.
    folders : folders that contain meshes or packages with meshes.

    A body of which no visual could be read is drawn as capsules from joint to joint.
    """
    shapes: list[Shape] = []
    missing: list[str] = []
    if urdf:
        root = urdf_document(urdf)
        finder = _Finder(folder, folders)
        materials = {
            each.get("name", ""): colour
            for each in root.iterfind("material")
            if (colour := _colour(each, {})) is not None
        }
        for link in root.iterfind("link"):
            if (name := link.get("name", "")) in model.frames:
                shapes += _visuals(model, name, link, materials, finder)
        missing = finder.missing
    drawn = {shape.body for shape in shapes}
    shapes += (shape for shape in _capsules(model) if shape.body not in drawn)
    return RobotShapes(shapes, missing)


def _visuals(
    model: MultibodyModel,
    name: str,
    link: ElementTree.Element,
    materials: Mapping[str, tuple[int, int, int]],
    finder: _Finder,
) -> Iterator[Shape]:
    body, in_body = model.frame(name)
    for visual in link.iterfind("visual"):
        geometry = visual.find("geometry")
        if geometry is None or not len(geometry):
            continue
        place = in_body @ origin_pose(visual.find("origin"))
        colour = _colour(visual.find("material"), materials)
        for mesh in finder.meshes(geometry[0]):
            vertices = np.asarray(mesh.vertices) @ place[:3, :3].T + place[:3, 3]
            own = colour or _mesh_colour(mesh)
            yield Shape(body, vertices, np.asarray(mesh.faces), own)


class _Finder:
    """Reads geometry; `missing` lists mesh files that could not be read."""

    def __init__(self, folder: Path | None, folders: Sequence[Path]) -> None:
        self.missing: list[str] = []
        above = [] if folder is None else [folder.resolve(), *folder.resolve().parents][:4]
        paths = [
            Path(each, *rest)
            for variable, rest in (("AMENT_PREFIX_PATH", ("share",)), ("ROS_PACKAGE_PATH", ()))
            for each in os.environ.get(variable, "").split(os.pathsep)
            if each
        ]
        self._folders = [*folders, *above, *paths]

    def meshes(self, geometry: ElementTree.Element) -> list[Any]:
        """The meshes of a <geometry> element; [] if its file cannot be read."""
        import trimesh

        try:
            if geometry.tag == "mesh":
                return self._read(geometry)
            numbers = {
                key: _numbers(value) for key, value in geometry.attrib.items() if key != "filename"
            }
            if geometry.tag == "box":
                return [trimesh.creation.box(extents=numbers["size"])]
            radius = numbers["radius"][0]
            if geometry.tag == "sphere":
                return [trimesh.creation.icosphere(radius=radius)]
            length = numbers["length"][0]
            if geometry.tag == "cylinder":
                return [trimesh.creation.cylinder(radius=radius, height=length)]
            if geometry.tag == "capsule":
                return [capsule(np.array([[0, 0, -length / 2], [0, 0, length / 2]]), radius)]
        except (KeyError, IndexError, ValueError) as error:
            self.missing.append(f"<{geometry.tag}>: {error}")
        return []

    def _read(self, geometry: ElementTree.Element) -> list[Any]:
        import trimesh

        uri = geometry.get("filename", "")
        file = self._find(uri)
        if file is None:
            self._miss(f"{uri}: not found")
            return []
        try:
            found = trimesh.load_scene(file).dump()
        except Exception as error:  # every format has errors of its own
            self._miss(f"{uri}: {error or type(error).__name__}")
            return []
        scale = _numbers(geometry.get("scale", "1 1 1"))
        meshes = [each for each in found if isinstance(each, trimesh.Trimesh)]
        for mesh in meshes:
            mesh.vertices = mesh.vertices * scale
        return meshes

    def _miss(self, text: str) -> None:
        if text not in self.missing:
            self.missing.append(text)

    def _find(self, uri: str) -> Path | None:
        scheme, _, rest = uri.rpartition("://")
        if scheme == "package":  # the package itself may be the folder
            rest = rest.lstrip("/")
            names = [rest, rest.partition("/")[2]]
        else:
            names = [rest]
        return next(
            (
                file
                for name in filter(None, names)
                for top in self._folders or [Path()]
                if (file := top / name).is_file()
            ),
            None,
        )


def _numbers(text: str) -> Array:
    return np.array([float(word) for word in text.split()])


def _colour(
    material: ElementTree.Element | None, named: Mapping[str, tuple[int, int, int]]
) -> tuple[int, int, int] | None:
    """The colour of a <material>, its own or that of its name."""
    if material is None:
        return None
    rgba = material.find("color")
    if rgba is None:
        return named.get(material.get("name", ""))
    r, g, b = (round(255 * float(np.clip(x, 0, 1))) for x in _numbers(rgba.get("rgba", ""))[:3])
    return r, g, b


def _mesh_colour(mesh: Any) -> tuple[int, int, int]:
    """The main colour of a mesh file; PLAIN if it defines none."""
    if not mesh.visual.defined:
        return PLAIN
    try:
        r, g, b = np.asarray(mesh.visual.to_color().main_color)[:3].tolist()
    except Exception:  # of textures that cannot be read
        return PLAIN
    return r, g, b


def capsule(ends: Array, radius: float) -> Any:
    """The trimesh of a capsule around the segment between its ends (2, 3), m."""
    import trimesh

    length = float(np.linalg.norm(ends[1] - ends[0]))
    mesh = trimesh.creation.capsule(radius=radius, height=length, count=(16, 16))
    mesh.apply_translation([0.0, 0.0, -mesh.bounds.mean(axis=0)[2]])
    if length > 0.0:
        mesh.apply_transform(trimesh.geometry.align_vectors([0, 0, 1], ends[1] - ends[0]))
    mesh.apply_translation(ends.mean(axis=0))
    return mesh


def _capsules(model: MultibodyModel) -> Iterator[Shape]:
    """Capsules from joint to joint, and cylinders around the joints' axes."""
    import trimesh

    skeleton = link_skeleton(model.tree)
    lengths = np.linalg.norm(np.diff(skeleton.ends, axis=1)[:, 0], axis=1)
    is_long = lengths > 0.2 * lengths.max(initial=0.0)
    radius = max(SLENDER * float(lengths[is_long].mean()) * 2.0 if is_long.any() else 0.05, 0.002)
    for body, ends, length in zip(skeleton.bodies.tolist(), skeleton.ends, lengths, strict=True):
        if length > radius:
            mesh = capsule(ends, radius)
            yield Shape(body, np.asarray(mesh.vertices), np.asarray(mesh.faces), PLAIN)
    for body, in_joint in enumerate(model.body_in_joint):
        mesh = trimesh.creation.cylinder(radius=WIDE * radius, height=3.2 * radius, sections=40)
        mesh.apply_transform(se3.inverse(in_joint))
        yield Shape(body, np.asarray(mesh.vertices), np.asarray(mesh.faces), JOINT)
