# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The robot in a Viser scene: links, a transparent twin at the motors, colours and arrows."""

from typing import Any, NamedTuple

import numpy as np
from viser import ViserServer
from viser.transforms import SO3

from ...dynamics.core import Array
from ...dynamics.model import MultibodyModel
from ...dynamics.rigid import forward_kinematics
from .shapes import RobotShapes, Shape
from .viewed_motion import RobotState, start_of_view

LOADED = np.array([213.0, 62.0, 0.0])  # RGB at the limit of the effort
TWIN, FORCE, MOMENT, CONTACT = (0, 114, 178), (0, 158, 115), (204, 121, 167), (213, 62, 0)
TWIN_OPACITY = 0.3
STILL = 1e-9  # rad or m; smaller changes are not sent
SMALL = 0.02  # share of the largest arrow below which none is drawn
ARROW = 0.35  # length of the longest arrow, as a share of the size of the robot
STEPS = 24  # of the colour, so that it is not sent for every small change


class Look(NamedTuple):
    """Settings of the picture: `magnification` of the deflections, and what is shown."""

    magnification: float = 1.0
    twin: bool = True
    colours: bool = True
    arrows: bool = True


class RobotScene:
    """A robot in the scene of a server. `extent` (2, 3) is its bounding box at q, m.

    The colour of a body goes from its own to vermilion as the torque of its joint goes from zero to
    the effort limit of the URDF or, without one, to the largest torque that was shown.
    """

    def __init__(self, server: ViserServer, model: MultibodyModel, shapes: RobotShapes) -> None:
        self._server, self._model = server, model
        self._poses = {"links": np.empty((0, 4, 4)), "motors": np.empty((0, 4, 4))}
        self._frames: dict[str, list[Any]] = {name: [] for name in self._poses}
        self._meshes: list[list[tuple[Any, Shape]]] = [[] for _ in range(model.body_count)]
        self._shades = np.full(model.body_count, -1)
        self._largest = np.full(model.n, 1e-9)
        self._greatest = {"force": 1e-9, "moment": 1e-9}
        scene = server.scene
        for name in self._poses:
            root = scene.add_frame(f"/{name}", show_axes=False)
            self._frames[name] = [
                scene.add_frame(f"/{name}/{k}_{body}", show_axes=False)
                for k, body in enumerate(model.body_names)
            ]
            if name == "motors":
                self._twin = root
        for k, shape in enumerate(shapes.shapes):
            self._add(k, shape)
        self._arrows: dict[str, Any] = {}
        pose = forward_kinematics(model, start_of_view(model)).pose
        corners = [
            shape.vertices if shape.body < 0
            else shape.vertices @ pose[shape.body, :3, :3].T + pose[shape.body, :3, 3]
            for shape in shapes.shapes
        ]  # fmt: skip
        points = np.concatenate(corners)
        self.extent = np.stack([points.min(axis=0), points.max(axis=0)])
        self.size = float(np.ptp(self.extent, axis=0).max())

    def _add(self, k: int, shape: Shape) -> None:
        scene, model = self._server.scene, self._model
        if shape.body < 0:
            scene.add_mesh_simple(f"/base/{k}", shape.vertices, shape.faces, color=shape.colour)
            return
        body = f"{shape.body}_{model.body_names[shape.body]}"
        mesh = scene.add_mesh_simple(
            f"/links/{body}/{k}", shape.vertices, shape.faces, color=shape.colour
        )
        self._meshes[shape.body].append((mesh, shape))
        scene.add_mesh_simple(
            f"/motors/{body}/{k}", shape.vertices, shape.faces, color=TWIN, opacity=TWIN_OPACITY,
            cast_shadow=False, receive_shadow=False,
        )  # fmt: skip

    def show(self, state: RobotState, look: Look) -> None:
        """Show a state, unless the loops of the robot do not allow it; only changes are sent."""
        model = self._model
        if not model.reaches(state.q):
            return
        with self._server.atomic():
            pose = forward_kinematics(model, state.q).pose
            self._place("links", pose)
            deflection = state.motor - state.q
            magnified = state.q + look.magnification * np.nan_to_num(deflection)
            visible = bool(look.twin and np.isfinite(deflection).any() and model.reaches(magnified))
            if self._twin.visible != visible:
                self._twin.visible = visible
            if visible:
                self._place("motors", forward_kinematics(model, magnified).pose)
            self._colour(state.torque[0], look.colours)
            self._draw_arrows(state, pose, look.arrows)

    def _place(self, name: str, pose: Array) -> None:
        known = self._poses[name]
        new = np.ones(len(pose), dtype=bool)
        if len(known):
            new = np.abs(pose - known).max(axis=(1, 2)) > STILL
        if not new.any():
            return
        self._poses[name] = np.where(new[:, None, None], pose, known) if len(known) else pose
        turned = SO3.from_matrix(pose[:, :3, :3]).wxyz
        for k in np.flatnonzero(new).tolist():
            frame = self._frames[name][k]
            frame.position, frame.wxyz = pose[k, :3, 3], turned[k]

    def load(self, torque: Array) -> Array:
        """(n,) torques (n,) relative to their limits, from 0 to 1; 0 where unknown."""
        magnitude = np.nan_to_num(np.abs(torque))
        self._largest = np.maximum(self._largest, magnitude)
        effort = self._model.limits.effort
        limit = np.where(np.isfinite(effort) & (effort > 0.0), effort, self._largest)
        return np.clip(magnitude / limit, 0.0, 1.0)

    def _of_bodies(self, values: Array) -> Array:
        """Values (n,) at the joints of the tree; zero at those that loops determine."""
        return np.append(values, 0.0)[self._model.coordinates]

    def _colour(self, torque: Array, wanted: bool) -> None:
        load = self.load(torque) if wanted else np.zeros(self._model.n)
        shades = np.round(STEPS * self._of_bodies(load)).astype(int)
        for body in np.flatnonzero(shades != self._shades).tolist():
            share = shades[body] / STEPS
            for mesh, shape in self._meshes[body]:
                colour = (1.0 - share) * np.array(shape.colour) + share * LOADED
                mesh.color = tuple(int(x) for x in np.round(colour))
        self._shades = shades

    def _draw_arrows(self, state: RobotState, pose: Array, wanted: bool) -> None:
        """Forces and moments of wrenches, and torques of contacts about the joints' axes."""
        model = self._model
        arrows: dict[str, list[Array]] = {"force": [], "moment": [], "contact": []}
        for link, wrench in state.wrenches if wanted else ():
            body, in_body = model.frame(link)
            place = (np.eye(4) if body < 0 else pose[body]) @ in_body
            for name, vector in (("moment", wrench[:3]), ("force", wrench[3:])):
                self._greatest[name] = max(self._greatest[name], float(np.linalg.norm(vector)))
                reach = ARROW * self.size * (place[:3, :3] @ vector) / self._greatest[name]
                arrows[name].append(np.stack([place[:3, 3], place[:3, 3] + reach]))
        if wanted and np.isfinite(state.external).any():
            joint = pose @ np.linalg.inv(model.body_in_joint)
            load = np.nan_to_num(state.external) / self._largest.max()
            for frame, share in zip(joint, self._of_bodies(load), strict=True):
                reach = ARROW * self.size * np.clip(share, -1.0, 1.0) * frame[:3, 2]
                arrows["contact"].append(np.stack([frame[:3, 3], frame[:3, 3] + reach]))
        for name, colour in (("force", FORCE), ("moment", MOMENT), ("contact", CONTACT)):
            pairs = [
                pair
                for pair in arrows[name]
                if np.linalg.norm(pair[1] - pair[0]) > SMALL * ARROW * self.size
            ]
            self._draw(name, np.array(pairs).reshape(-1, 2, 3), colour)

    def _draw(self, name: str, points: Array, colour: tuple[int, int, int]) -> None:
        handle = self._arrows.get(name)
        if not len(points):
            if handle is not None and handle.visible:
                handle.visible = False
            return
        if handle is None:
            thick = 0.008 * self.size
            self._arrows[name] = self._server.scene.add_arrows(
                f"/{name}", points, colour, shaft_radius=thick, head_radius=2.4 * thick,
                head_length=5.0 * thick,
            )  # fmt: skip
            return
        handle.points = points.astype(np.float32)
        if not handle.visible:
            handle.visible = True


def furnish(server: ViserServer, scene: RobotScene) -> None:
    """Add a floor, and place the camera in front of the robot."""
    size = max(scene.size, 1e-3)
    low, high = scene.extent
    middle = 0.5 * (low + high)
    cell = 10.0 ** np.floor(np.log10(size)) / 2.0
    server.scene.add_grid(
        "/floor", width=6.0 * size, height=6.0 * size, cell_size=cell, section_size=2.0 * cell,
        cell_color=(226, 229, 233), section_color=(200, 205, 211), cell_thickness=0.6,
        section_thickness=0.9, position=(0.0, 0.0, min(float(low[2]), 0.0) - 2e-3 * size),
        shadow_opacity=0.3, infinite_grid=True, fade_distance=12.0 * size,
    )  # fmt: skip
    server.initial_camera.position = middle + size * np.array([1.05, -0.95, 0.4])
    server.initial_camera.look_at = middle
    server.initial_camera.near = 0.01 * size
