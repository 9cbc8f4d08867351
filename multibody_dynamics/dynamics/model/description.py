# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Tables of a robot, for comparison with its data sheet."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..core import Array
from ..lie import se3
from .inertia import decompose, principal_moments

Robot = Any  # a MultibodyModel; its module imports this one


def describe(model: Robot) -> str:
    """Tables of joints, screws, limits, bodies, inertias, merged frames, payloads; then notes."""
    lines = [
        f"{model.name}: {_count(model)}; base '{model.base_name}'",
        f"gravity {_vector(model.gravity)} m/s^2",
        "",
        "Joints: axis and a point on it, in the frame of the moved body; angles in rad",
        *_joints(model),
        "",
        "Placement at q = 0: pose of each body's frame in the frame of its parent, m and rad",
        *_placements(model),
        "",
        "Screws Y at q = 0: angular and linear part, inertial axes and origin, 1 and m",
        *_screws(model),
        "",
        "Limits: rad, rad/s, N m, rad/s^2, rad/s^3, kg m^2; for prismatic joints with m, N and kg",
        *_limits(model),
        "",
        "Bodies, including payloads: kg and m; COM from the body's origin, in body axes",
        *_bodies(model),
        "",
        "Inertia about the COM, kg m^2: entries in body axes, principal moments",
        *_inertias(model),
    ]
    if model.couplings:
        lines += ["", "Coupled joints: rad or m", *_couplings(model)]
    merged = {
        name: frame
        for name, frame in model.frames.items()
        if name not in (*model.body_names, model.base_name, *model.payloads)
    }
    if merged:
        lines += ["", "Frames fixed to a body: position and rpy in its frame, m and rad"]
        lines += _table(
            ("frame", "body", "x, y, z", "roll, pitch, yaw"),
            [
                (name, _carrier(model, f.body), _vector(f.pose[:3, 3]), _vector(_rpy(f.pose)))
                for name, f in merged.items()
            ],
        )
    if model.payloads:
        lines += ["", "Payloads: kg, m; COM in the frame of the body"]
        loads = [
            (name, _carrier(model, load.body), *decompose(load.inertia)[:2])
            for name, load in model.payloads.items()
        ]
        lines += _table(
            ("payload", "body", "mass", "COM"),
            [(name, body, _number(mass), _vector(com)) for name, body, mass, com in loads],
        )
    if model.notes:
        lines += ["", "Notes", *(f"- {note}" for note in model.notes)]
    return "\n".join(lines)


def _count(model: Robot) -> str:
    dependent = f", {len(model.couplings)} of them dependent" if model.couplings else ""
    total = model.n + len(model.couplings) if dependent else model.n
    return f"{total} joints{dependent}"


def _couplings(model: Robot) -> list[str]:
    """Each dependent joint as a sum over independent ones."""
    rows = []
    for joint, (terms, offset) in model.couplings.items():
        parts = [f"{_number(factor)} {name}" for name, factor in terms.items()]
        parts += [_number(offset)] if offset else []
        rows.append((joint, "= " + " + ".join(parts)))
    return _table(("joint", "coordinate"), rows)


def _joints(model: Robot) -> list[str]:
    rows = []
    for i, joint in enumerate(model.tree_joint_names):
        e, v = np.split(model.body_screws[i], 2)
        kind = model.tree_joint_types[i]
        if np.any(e):
            point = _vector(np.cross(e, v) / (e @ e))
            axis = _vector(e)
            if kind == "helical":
                kind = f"helical {_number(e @ v / (e @ e))} m/rad"
        else:
            axis, point = _vector(v), "-"
        parent = _carrier(model, model.parents[i])
        rows.append((str(i), joint, kind, parent, model.body_names[i], axis, point))
    return _table(("", "joint", "type", "from", "to body", "axis", "point"), rows)


def _placements(model: Robot) -> list[str]:
    rows = []
    for i, body in enumerate(model.body_names):
        parent = model.parents[i]
        A = model.poses[i] if parent < 0 else se3.inverse(model.poses[parent]) @ model.poses[i]
        rows.append((body, _carrier(model, parent), _vector(A[:3, 3]), _vector(_rpy(A))))
    return _table(("body", "in the frame of", "x, y, z", "roll, pitch, yaw"), rows)


def _screws(model: Robot) -> list[str]:
    rows = [
        (joint, _vector(Y[:3]), _vector(Y[3:]))
        for joint, Y in zip(model.tree_joint_names, model.screws, strict=True)
    ]
    return _table(("joint", "angular", "linear"), rows)


def _limits(model: Robot) -> list[str]:
    limits = np.transpose([*model.limits, model.reflected_inertia])
    rows = [
        (joint, *map(_number, row)) for joint, row in zip(model.joint_names, limits, strict=True)
    ]
    return _table(("joint", *model.limits._fields, "reflected inertia"), rows)


def _bodies(model: Robot) -> list[str]:
    rows = []
    total = 0.0
    for i, body in enumerate(model.body_names):
        mass, com, _ = decompose(model.inertias[i])
        total += mass
        rows.append((body, _number(mass), _vector(com), _vector(model.poses[i, :3, 3])))
    rows.append(("total", _number(total), "", ""))
    return _table(("body", "mass", "COM", "origin at q = 0, inertial axes"), rows)


def _inertias(model: Robot) -> list[str]:
    rows = []
    for body, M in zip(model.body_names, model.inertias, strict=True):
        about_com = decompose(M)[2]
        entries = about_com[np.triu_indices(3)]
        moments = ", ".join(f"{moment:.4g}" for moment in principal_moments(about_com))
        rows.append((body, *map(_number, entries), moments))
    return _table(("body", "xx", "xy", "xz", "yy", "yz", "zz", "principal"), rows)


def _carrier(model: Robot, body: int) -> str:
    return model.base_name if body < 0 else model.body_names[body]


def _rpy(pose: Array) -> Array:
    """Roll, pitch, yaw of a pose, R = Rot_z(yaw) Rot_y(pitch) Rot_x(roll)."""
    R = pose[:3, :3]
    cosine = np.hypot(R[0, 0], R[1, 0])
    pitch = np.arctan2(-R[2, 0], cosine)
    if cosine < 1e-9:  # roll and yaw share one axis: attribute all of it to roll
        return np.array([np.arctan2(-R[1, 2], R[1, 1]), pitch, 0.0])
    return np.array([np.arctan2(R[2, 1], R[2, 2]), pitch, np.arctan2(R[1, 0], R[0, 0])])


def _number(value: float) -> str:
    """Seven digits; values below 1e-12, which are rounding, are shown as zero."""
    return f"{0.0 if abs(value) < 1e-12 else value:.7g}"


def _vector(values: Iterable[float]) -> str:
    return f"({', '.join(map(_number, values))})"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Left-aligned columns, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in (header, *rows)
    ]
