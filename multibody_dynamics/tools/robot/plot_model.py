# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A robot in one picture: frames, joint axes and masses in space beside the kinematic tree.

    from multibody_dynamics.tools.robot.plot_model import plot_model

    figure = plot_model(model, q)

A notebook shows the figure; `figure.savefig(file)` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...dynamics.core import Array, InputError, as_array
from ...dynamics.lie import se3
from ...dynamics.model import MultibodyModel, screw_type
from ...dynamics.model.inertia import decompose
from ...dynamics.rigid import forward_kinematics
from ...reporting.figures import BLUE, GREEN, HOUSE_STYLE, ORANGE, PURPLE, VERMILION

# Each type of joint has its own colour and marker.
JOINTS = {"revolute": (BLUE, "o"), "prismatic": (ORANGE, "s"), "helical": (GREEN, "D")}
MASS, PAYLOAD, LINK, TEXT, FAINT = VERMILION, PURPLE, "#8C8C8C", "#333333", "#999999"
FRAME = ("#D62728", "#2CA02C", "#1F4FD8")  # x, y, z
AXIS_STYLE = (0, (8, 2, 2, 2))  # a centre line
LONGEST, SHORTEST = 0.12, 0.03  # half an axis, as a share of the size of the robot
THINNEST = 0.3  # shortest edge of the box around a robot, as a share of the longest
ELEVATION, AZIMUTHS = 18.0, (-55.0, *range(-160, 180, 15))  # degrees; the usual one first
CLEARLY = 0.15  # by how much the mean logarithm of distances must be greater in another view
SMALL = 0.65  # size of the smallest marker of a joint
MOST_NAMES = 12  # joints with names in space; more would hide the robot
HEAVIEST = 170.0  # area of the heaviest body's marker, points^2

# Inches; the tree is drawn to scale, unless the axes are too small for it.
SMALLEST = 6.4  # height of the sheet
NARROWEST, LARGEST = 4.4, 10.0  # width of the window for the robot
WIDEST = 0.6  # beside a long tree: its width as a share of the height of the sheet
SIDE, TOP, BOTTOM = 0.55, 0.65, 1.15  # around the robot, for numbers, title and legend
LINE = 0.27
INDENT = 0.32
GAP = 0.2
FONT = 9.0 / 72.0


def plot_model(
    model: MultibodyModel,
    q: Any = None,
    *,
    axes: Any = None,
    view: tuple[float, float] | None = None,
) -> Any:
    """Draw the robot at q (n,), rad or m, beside its kinematic tree; return the Matplotlib figure.

    q : defaults to :func:`default_pose`
    axes : two axes to draw into: one with projection="3d" for the robot, and one for the tree
    view : elevation and azimuth in degrees; by default those that show the joints best

    Raises InputError for a q of the wrong shape, NaN or infinity.
    """
    from matplotlib import pyplot

    q = default_pose(model) if q is None else _configuration(model, q)
    with pyplot.rc_context(HOUSE_STYLE):
        if axes is None:
            tree = _Tree.of(model)
            height = max(tree.height, SMALLEST)
            largest = max(LARGEST, WIDEST * height)
            robot = min(max(_shape(model, q, view) * height, NARROWEST), largest)
            width = robot + tree.width
            figure = pyplot.figure(figsize=(width, height))
            share = robot / width
            window = 0.0, 0.0, share, 1.0
            # Axes in space are square: what is larger than their window reaches beyond it.
            across, up = (max(robot, height) / side for side in (width, height))
            place = 0.5 * (share - across), 0.5 * (1.0 - up), across, up
            axes = (
                figure.add_axes(place, projection="3d"),
                figure.add_axes((share, 0.0, 1.0 - share, 1.0)),
            )
        else:
            window = axes[0].get_position().bounds
        draw_robot(axes[0], model, q, view=view, window=window)
        draw_tree(axes[1], model)
    return axes[0].figure


def save_picture(
    model: MultibodyModel,
    file: Path,
    q: Sequence[float] | None = None,
    *,
    view: tuple[float, float] | None = None,
) -> None:
    """Write the picture to a file, in the format of its suffix, and print the file's name.

    Raises InputError as :func:`plot_model` does, and for unknown suffixes.
    """
    import matplotlib

    matplotlib.use("Agg")
    figure = plot_model(model, q, view=view)
    kinds = figure.canvas.get_supported_filetypes()
    if file.suffix[1:].lower() not in kinds:
        raise InputError(f"{file}: the name must end in one of {', '.join(sorted(kinds))}")
    figure.savefig(file, dpi=110)
    print(f"picture: {file}")


def default_pose(model: MultibodyModel) -> Array:
    """A configuration (n,) within the limits: the middle of each joint's range within -1 ... 1."""
    lower, upper, *_ = model.limits
    middle = 0.5 * (np.clip(lower, -1.0, 1.0) + np.clip(upper, -1.0, 1.0))
    return np.clip(middle, lower, upper)


def _configuration(model: MultibodyModel, q: Any) -> Array:
    if np.shape(q) != (model.n,):
        raise InputError(
            f"q: expected {model.n} numbers ({', '.join(model.joint_names)}), got shape "
            f"{np.shape(q)}"
        )
    return as_array("q", q, (model.n,), model.joint_names)


# In space


def draw_robot(
    axis: Any,
    model: MultibodyModel,
    q: Any,
    *,
    view: tuple[float, float] | None = None,
    window: tuple[float, float, float, float] | None = None,
) -> None:
    """Draw frames, links, joint axes and centres of mass at q (n,) into axes with projection="3d",
    seen from `view`, see :func:`plot_model`. Joints close to each other get short axes. `window`:
    x, y, width and height in the figure, by default of the axes, which the robot fills.

    Raises InputError as :func:`plot_model` does.
    """
    from .joint_labels import add_labels

    q = _configuration(model, q)
    pose = forward_kinematics(model, q).pose
    joint = pose @ se3.inverse(model.body_in_joint)  # z along the joint's axis
    fixed = [
        (body, pose[body] @ offset)
        for name, (body, offset) in model.frames.items()
        if body >= 0 and name not in (*model.body_names, *model.payloads)
    ]
    masses = _masses(model)
    centres = [pose[m.body, :3, :3] @ m.com + pose[m.body, :3, 3] for m in masses]
    places = [[np.zeros(3)], pose[:, :3, 3], joint[:, :3, 3], centres]
    size = float(np.ptp(np.vstack(places), axis=0).max())
    reach = _reach(joint[:, :3, 3], size)

    _draw_frame(axis, np.eye(4), 0.1 * size, 2.0)
    for i, parent in enumerate(model.parents):
        start = np.zeros(3) if parent < 0 else pose[parent, :3, 3]
        _draw_link(axis, start, joint[i, :3, 3], pose[i, :3, 3])
        _draw_frame(axis, pose[i], 0.5 * reach[i], 1.6)
    for body, frame in fixed:
        _draw_link(axis, pose[body, :3, 3], frame[:3, 3])
        _draw_frame(axis, frame, 0.33 * reach[body], 1.0)
    for i, name in enumerate(model.tree_joint_names):
        colour, mark = JOINTS[screw_type(model.screws[i])]
        place, half = joint[i, :3, 3], reach[i] * joint[i, :3, 2]
        ends = np.transpose([place - half, place + half])
        axis.plot(*ends, color=colour, lw=1.3, ls=AXIS_STYLE, gid=f"axis {name}")
        small = max(SMALL, np.sqrt(reach[i] / (LONGEST * size)))
        axis.plot(*place[:, None], mark, mfc="white", mec=colour, mew=1.5 * small, ms=5.5 * small)
    for m, centre in zip(masses, centres, strict=True):
        axis.plot(*np.transpose([pose[m.body, :3, 3], centre]), color=m.colour, lw=0.9, ls=":")
        axis.scatter(
            *centre, s=m.area, color=m.colour, alpha=0.8, linewidths=0, depthshade=False,
            gid=f"mass {m.name}",
        )  # fmt: skip
    window = window or axis.get_position().bounds
    _finish_robot(axis, model, q, view or best_view(joint[:, :3, 3]), window)
    colours = [JOINTS[screw_type(screw)][0] for screw in model.screws]
    along = np.linspace(-1.0, 1.0, 5)[:, None, None] * reach[:, None] * joint[:, :3, 2]
    lines = (joint[:, :3, 3] + along).reshape(-1, 3)
    labels = {i: _plain(label) for i, label in joint_labels(model).items()}
    named = list(labels)
    add_labels(
        axis, list(labels.values()), joint[named, :3, 3], [colours[i] for i in named],
        np.vstack([lines, *centres]), window,
    )  # fmt: skip


def _reach(places: Array, size: float) -> Array:
    """(k,) half the length of each axis: half the distance to the nearest other joint, within
    bounds."""
    apart = np.linalg.norm(places[:, None] - places, axis=-1)
    apart[apart < SHORTEST * size] = np.inf  # joints in one place
    return np.clip(0.5 * apart.min(axis=1), SHORTEST * size, LONGEST * size)


def best_view(places: Array) -> tuple[float, float]:
    """Elevation and azimuth in degrees from which the points (k, 3) are farthest apart."""
    one, other = np.triu_indices(len(places), 1)
    between = places[one] - places[other]
    lengths = np.linalg.norm(between, axis=1)
    between = between[lengths > 1e-9]
    if not len(between):
        return ELEVATION, AZIMUTHS[0]

    def spread(azimuth: float) -> float:
        seen = np.linalg.norm(between @ _picture_plane(ELEVATION, azimuth).T, axis=1)
        return float(np.log(seen + 0.02 * lengths.max()).mean())

    best = max(AZIMUTHS[1:], key=spread)
    usual = spread(AZIMUTHS[0]) > spread(best) - CLEARLY
    return ELEVATION, AZIMUTHS[0] if usual else best


def _picture_plane(elevation: float, azimuth: float) -> Array:
    """(2, 3) the directions to the right and upwards in the picture."""
    e, a = np.radians([elevation, azimuth])
    right = (-np.sin(a), np.cos(a), 0.0)
    return np.array([right, (-np.sin(e) * np.cos(a), -np.sin(e) * np.sin(a), np.cos(e))])


def _shape(model: MultibodyModel, q: Array, view: tuple[float, float] | None) -> float:
    """Width over height of the robot in the picture, scales included."""
    pose = forward_kinematics(model, q).pose
    places = np.vstack([np.zeros(3), pose[:, :3, 3]])
    extent = _box(places.min(axis=0), places.max(axis=0))
    joint = pose @ se3.inverse(model.body_in_joint)
    plane = np.abs(_picture_plane(*(view or best_view(joint[:, :3, 3]))))
    across, up = plane @ extent
    return float(across / up)


def _box(lower: Array, upper: Array) -> Array:
    """(3,) the edges of the box around a robot, none of them too thin for a scale."""
    return np.maximum(upper - lower, THINNEST * (upper - lower).max())


def joint_labels(model: MultibodyModel) -> dict[int, str]:
    """The label of each joint in space: its name without the common prefix or, if there are many
    joints, its number, which the tree explains. Of many joints, only the independent ones."""
    if model.body_count > MOST_NAMES:
        return {int(k): str(k + 1) for k in model.first_bodies}
    return dict(enumerate(_short(model.tree_joint_names)))


def _draw_frame(axis: Any, pose: Array, length: float, width: float) -> None:
    for direction, colour in zip(pose[:3, :3].T, FRAME, strict=True):
        ends = np.transpose([pose[:3, 3], pose[:3, 3] + length * direction])
        axis.plot(*ends, color=colour, lw=width, solid_capstyle="butt")


def _draw_link(axis: Any, *places: Array) -> None:
    axis.plot(*np.transpose(places), color=LINK, lw=4.5, alpha=0.45, solid_capstyle="round")


def _finish_robot(
    axis: Any,
    model: MultibodyModel,
    q: Array,
    view: tuple[float, float],
    window: tuple[float, float, float, float],
) -> None:
    """Add scales, title and legend; the box fills the window."""
    from matplotlib.lines import Line2D

    lower, upper = np.transpose([axis.get_xlim3d(), axis.get_ylim3d(), axis.get_zlim3d()])
    extent = _box(lower, upper)
    for name, middle, length in zip("xyz", 0.5 * (lower + upper), extent, strict=True):
        axis.set(**{f"{name}lim": (middle - 0.5 * length, middle + 0.5 * length)})
        axis.set(**{f"{name}label": f"{name}  [m]"})
    axis.view_init(elev=view[0], azim=view[1])
    _fill(axis, extent, window)
    axis.locator_params(nbins=5)
    axis.tick_params(labelsize=7.5, labelcolor=FAINT, pad=1.0)
    axis.tick_params("z", pad=8.0)
    for scale in (axis.xaxis, axis.yaxis, axis.zaxis):
        scale.set_pane_color("#FBFBFB")
        scale.labelpad = 14.0 if scale is axis.zaxis else 7.0  # clear of the numbers
    figure = axis.figure
    inch = 1.0 / figure.get_figheight()
    left, top = window[0] + 0.05 * window[2], window[1] + window[3]
    axis.text2D(left, top - 0.3 * inch, _plain(model.name), transform=figure.transFigure,
                fontsize=13, color=TEXT)  # fmt: skip
    if model.n <= MOST_NAMES:
        values = ", ".join(f"{x + 0.0:.3g}" for x in q)
        axis.text2D(left, top - 0.52 * inch, f"q = ({values})", transform=figure.transFigure,
                    color=FAINT)  # fmt: skip

    kinds = set(map(screw_type, model.screws))
    handles = [
        Line2D([], [], color=JOINTS[kind][0], ls=AXIS_STYLE, lw=1.3, marker=JOINTS[kind][1],
               mfc="white", mew=1.5, ms=5.5, label=f"{kind} joint")
        for kind in JOINTS
        if kind in kinds
    ]  # fmt: skip
    handles += [
        Line2D([], [], color=colour, marker="o", ls="", mew=0, alpha=0.8, label=label)
        for colour, label in ((MASS, "centre of mass, area as mass"), (PAYLOAD, "payload"))
        if colour == MASS or model.payloads
    ]
    handles += [
        Line2D([], [], color=colour, lw=1.6, label=label)
        for colour, label in zip(FRAME, "xyz", strict=True)
    ]
    axis.legend(handles=handles, loc="lower left", bbox_to_anchor=(left, window[1]),
                bbox_transform=figure.transFigure, ncols=(len(handles) + 1) // 2, frameon=False,
                fontsize=8.5)  # fmt: skip


def _fill(axis: Any, extent: Array, window: tuple[float, float, float, float]) -> None:
    """Set the shape and the size of the box, so that it fills its window between title and
    legend."""
    from .joint_labels import projected

    width, height = axis.figure.get_size_inches()
    room = np.array([width * window[2] - 2.0 * SIDE, height * window[3] - TOP - BOTTOM])
    corners = np.array([(x, y, z) for x in axis.get_xlim3d() for y in axis.get_ylim3d()
                        for z in axis.get_zlim3d()])  # fmt: skip
    zoom = 1.0
    for _ in range(3):  # in perspective, the size is not exactly proportional
        axis.set_box_aspect(extent, zoom=zoom)
        axis.apply_aspect()
        seen = axis.transData.transform(projected(axis, corners)) / axis.figure.dpi
        zoom *= float(np.min(np.maximum(room, 0.3 * SMALLEST) / np.ptp(seen, axis=0)))
    axis.set_box_aspect(extent, zoom=zoom)
    axis.apply_aspect()
    seen = axis.transData.transform(projected(axis, corners)) / axis.figure.dpi
    middle = np.array([window[0] + 0.5 * window[2], window[1]]) * (width, height)
    middle[1] += BOTTOM + 0.5 * room[1]
    moved = (middle - 0.5 * (seen.min(axis=0) + seen.max(axis=0))) / (width, height)
    x, y, across, up = axis.get_position().bounds
    axis.set_position((x + moved[0], y + moved[1], across, up))


# The tree


class _Row(NamedTuple):
    """A line of the tree: a body and its branch, and the line and branch of its parent."""

    body: int
    branch: int
    parent: int
    parent_branch: int


class _Tree(NamedTuple):
    """The layout of the tree, in inches from the upper left corner."""

    rows: list[_Row]
    columns: list[tuple[float, str, list[str]]]  # x, alignment, and the texts from the head down
    width: float
    height: float

    @classmethod
    def of(cls, model: MultibodyModel) -> _Tree:
        rows = list(_rows(model))
        order = [row.body for row in rows]
        links = {m.body: m.mass for m in _masses(model) if m.colour == MASS}
        loads: dict[int, list[str]] = {}
        for name, load in model.payloads.items():
            loads.setdefault(load.body, []).append(f"{name} {load.inertia[5, 5]:.4g}")
        total = model.inertias[:, 5, 5].sum()
        numbers = ["#", "", *(str(i + 1) for i in order), ""] if len(order) > MOST_NAMES else None
        texts = [
            *([numbers] if numbers else []),
            ["joint", "", *(model.tree_joint_names[i] for i in order), ""],
            ["type", "", *(model.tree_joint_types[i] for i in order), ""],
            ["body", model.base_name, *(model.body_names[i] for i in order), "total"],
            ["kg", "", *(f"{links[i]:.3f}" if i in links else "-" for i in order), f"{total:.3f}"],
        ]
        if model.payloads:
            texts.append(["payloads, kg", "", *(", ".join(loads.get(i, "")) for i in order), ""])
        x = INDENT * (max(row.branch for row in rows) + 1.5)
        columns = []
        for column in texts:
            align, width = "right" if column[0] == "kg" else "left", max(map(_width, column))
            columns.append((x + width if align == "right" else x, align, column))
            x += width + GAP
        return cls(rows, columns, x, LINE * (len(order) + 4))


def _rows(model: MultibodyModel) -> Iterator[_Row]:
    """The bodies in depth-first order, indented only where the tree branches."""
    waiting = [(-1, 0, 0, 0)]
    line = 0
    while waiting:
        body, branch, parent, parent_branch = waiting.pop()
        if body >= 0:
            line += 1
            yield _Row(body, branch, parent, parent_branch)
        children = [int(i) for i in np.flatnonzero(model.parents == body)]
        inner = branch + (len(children) > 1)
        waiting += [(i, inner, line, branch) for i in reversed(children)]


def draw_tree(axis: Any, model: MultibodyModel) -> None:
    """Draw the kinematic tree: the base at the top, then one line per joint and its body."""
    tree = _Tree.of(model)
    window = axis.get_window_extent().transformed(axis.figure.dpi_scale_trans.inverted())
    scale = min(1.0, window.width / tree.width, window.height / tree.height)
    width, height = window.width / scale, window.height / scale
    top = 0.5 * (height - tree.height)
    axis.set(xlim=(0.0, width), ylim=(height, 0.0))
    axis.set_axis_off()

    def y(line: float) -> float:
        return top + LINE * (line + 1.5)

    def x(branch: float) -> float:
        return INDENT * (branch + 0.5)

    for line in range(1, model.body_count + 1, 2):
        axis.axhspan(y(line - 0.5), y(line + 0.5), color="#F5F5F5", lw=0)
    areas = {m.body: m.area * scale**2 for m in _masses(model) if m.colour == MASS}
    for line, row in enumerate(tree.rows, start=1):
        colour, mark = JOINTS[screw_type(model.screws[row.body])]
        forked = row.branch > row.parent_branch
        bend = (x(row.parent_branch), y(line if forked else row.parent))
        if forked:
            trunk = [y(row.parent), y(line)]
            axis.plot([bend[0]] * 2, trunk, color=LINK, lw=1.5 * scale, zorder=1)
        end = (x(row.branch), y(line))
        edge = axis.plot(*zip(bend, end, strict=True), color=colour, lw=2.2 * scale, zorder=2)
        edge[0].set_gid(f"joint {model.tree_joint_names[row.body]}")
        middle = np.mean([bend, end], axis=0)
        axis.plot(*middle, mark, mfc="white", mec=colour, mew=1.5 * scale, ms=5.5 * scale, zorder=3)
        axis.scatter(*end, s=areas.get(row.body, 0.0), color=MASS, linewidths=0, zorder=4)
    axis.plot(x(0), y(0), "s", color=TEXT, ms=8.0 * scale, zorder=4, gid="base")
    for place, align, column in tree.columns:
        for line, text in enumerate(column):
            colour = FAINT if line in (0, model.body_count + 2) else TEXT
            axis.text(place, y(line - 1), _plain(text), ha=align, va="center_baseline",
                      color=colour, fontsize=72.0 * FONT * scale)  # fmt: skip


def _width(text: str) -> float:
    """Width of a text in inches, with a margin for the rounding of letters to pixels."""
    from matplotlib.textpath import TextPath

    if not text:
        return 0.0
    return 1.05 * float(TextPath((0, 0), _plain(text), size=FONT).vertices[:, 0].max())


def _plain(text: str) -> str:
    return text.replace("$", r"\$")


# Shared


class _Mass(NamedTuple):
    """A link or a payload: mass in kg, centre of mass in the body's frame, and its marker."""

    name: str
    body: int
    mass: float
    com: Array
    colour: str
    area: float


def _masses(model: MultibodyModel) -> list[_Mass]:
    """All links, then all payloads, that have a mass."""
    everything = [*zip(model.body_names, range(model.body_count), model.link_inertias, strict=True)]
    everything += [(name, *load) for name, load in model.payloads.items()]
    heaviest = max(M[5, 5] for _, _, M in everything)
    return [
        _Mass(
            name,
            body,
            mass,
            com,
            PAYLOAD if k >= model.body_count else MASS,
            HEAVIEST * mass / heaviest,
        )
        for k, (name, body, M) in enumerate(everything)
        for mass, com, _ in [decompose(M)]
        if mass
    ]


def _short(names: Sequence[str]) -> list[str]:
    """The names without their common prefix."""
    letters = zip(*names, strict=False)
    common = len(list(takewhile(lambda same: len(set(same)) == 1, letters)))
    return [name[common:] or name for name in names]
