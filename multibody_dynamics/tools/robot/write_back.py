# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Writes identified parameters into the files of a robot, and lists what changed."""

import json
from collections.abc import Iterable
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from ... import __version__
from ...dynamics.core import Array, InputError
from ...dynamics.mechanisms import load_robot
from ...dynamics.model import MultibodyModel
from ...dynamics.model.inertia import decompose, spatial_inertia
from ...reporting.templates import rendered
from ...validation.settings import SYMMETRIC
from ..base.provenance import digest_of
from .actuator_changes import write_actuators
from .changes_table import Change, WrittenBack
from .identified_results import (
    FRICTION,
    REPORT,
    TEN,
    Figures,
    Results,
    not_negative,
    rounded,
)
from .lumped_inertia import write_body
from .urdf_text import UrdfText, inertial_block

TEMPLATES = Path(__file__).parent / "templates"


def write_back(
    results: Results, urdf: Path, elastic_joints: Path | None = None, *, today: date | None = None
) -> WrittenBack:
    """The files of a robot with its identified parameters; writes nothing to disk.

    Raises InputError, naming link or joint, if a result is not physically possible or belongs to
    another robot, and ModelError if the URDF is not valid.
    """
    model = load_robot(urdf, elastic_joints)
    written = WrittenBack(notes=list(results.notes))
    comment = provenance(results, urdf, today or date.today())
    text = UrdfText(urdf.read_bytes(), str(urdf))
    blocks = _write_links(written, text, model, results)
    _write_friction(written, text, model, results, elastic=elastic_joints is not None)
    written.files[urdf.name] = text.edited(comment)
    if b"xacro" in text.data and blocks:
        macros = rendered(TEMPLATES / "inertials.xacro", blocks=blocks, comment=comment)
        written.files["inertials.xacro"] = macros.encode()
        written.notes.append(
            "inertials.xacro: the same inertials for the xacro file from which the URDF was made"
        )
    if elastic_joints is not None:
        written.files[elastic_joints.name] = write_actuators(
            written, model, results, elastic_joints, provenance(results, elastic_joints, today)
        )
    elif results.laws and not (results.bodies or results.joints or results.motors):
        raise InputError(
            f"{', '.join(map(str, results.sources))}: has only springs, which are not part of a"
            " URDF: give the file of springs and motors as --elastic-joints"
        )
    elif results.springs or results.laws:
        written.notes.append(
            "springs and motors were identified: --elastic-joints writes them back"
        )
    else:
        for motor, figures in results.motors.items():
            for key, figure in figures.items():
                remark = (
                    "in data.yaml" if key == "inertia" else "not written: needs an actuator file"
                )
                written.changes.append(Change(motor, f"motor {key}", None, figure, remark))
    data = _data_file(model, results, rigid=elastic_joints is None)
    if data:
        head = "".join(f"# {line}".rstrip() + "\n" for line in comment.splitlines())
        written.files["data.yaml"] = (head + data).encode()
    return written


def provenance(results: Results, original: Path, today: date | None = None) -> str:
    """Where the numbers come from: files with hashes, date, figures, version."""
    lines = [
        f"Identified parameters, written by multibody_dynamics {__version__}"
        f" on {(today or date.today()).isoformat()}",
        f"  into   {original.name} (sha256 {digest_of(original)})",
    ]
    for source in results.sources:
        lines.append(f"  from   {source.name} (sha256 {digest_of(source)})")
        if source.name == REPORT:
            lines += [f"  {line}" for line in _figures_of(source)]
    return "\n".join(lines)


def _figures_of(report: Path) -> Iterable[str]:
    """The residuals before and after an identification, in the forms of both commands."""
    try:
        content = json.loads(report.read_text(encoding="utf-8")).get("identification") or {}
        rows = [
            (joint, content.get("before", {}).get(joint, {}).get("rms"), after.get("rms"), "")
            for joint, after in (content.get("after") or {}).items()
        ]
        for each in content.get("residuals") or ():
            held = each.get("held_before") is not None
            keys = ("held_before", "held_after") if held else ("before", "after")
            unit = f" {each['unit']}" if "unit" in each else ""
            name = f"{each['joint']}, {each['kind']}" if "kind" in each else each["joint"]
            rows.append((name, *(each.get(key) for key in keys), unit))
    except (OSError, ValueError, AttributeError, KeyError, TypeError):
        return
    for joint, before, after, unit in rows:
        yield f"{joint}: rms of the torque residual {_number(before)}, now {_number(after)}{unit}"


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4g}"


# Links


def _write_links(
    found: WrittenBack, text: UrdfText, model: MultibodyModel, results: Results
) -> dict[str, str]:
    """Write the inertials; returns the blocks of the changed links."""
    blocks = {}
    for body, figures in results.bodies.items():
        if body not in model.body_names:
            raise InputError(
                f"link '{body}': the URDF has no such moving link; it has "
                f"{', '.join(model.body_names)}"
            )
        before = _ten(model.inertias[model.body_index(body)])
        link = write_body(text, model, body, _spatial(figures))
        remark = ""
        if link is None:
            remark = "unchanged"
        elif link != body or any(
            frame.body == model.body_index(body) and name != body and name in text.links
            and text.inertia(name) is not None
            for name, frame in model.frames.items()
        ):  # fmt: skip
            remark = f"with all fixed links; written into {link}"
        for key in TEN:
            found.changes.append(Change(body, key, before[key], figures[key], remark))
        if link is not None:
            blocks[link] = inertial_block(*_of_link(text, link))
    return blocks


def _spatial(figures: Figures) -> Array:
    mass, *rest = (figures[key].value for key in TEN)
    return spatial_inertia(mass, rest[:3], np.array(rest[3:])[SYMMETRIC])


def _ten(M: Array) -> dict[str, float]:
    mass, com, about_com = decompose(M)
    values = [mass, *com.tolist(), *about_com[np.triu_indices(3)].tolist()]
    return dict(zip(TEN, values, strict=True))


def _of_link(text: UrdfText, link: str) -> tuple[float, Array, Array]:
    """Mass, centre of mass and inertia about it of a changed link, in its own axes."""
    edited = UrdfText(text.edited(), text.name)
    M = edited.inertia(link)
    assert M is not None
    return decompose(M)


# Friction


def _write_friction(
    found: WrittenBack, text: UrdfText, model: MultibodyModel, results: Results, *, elastic: bool
) -> None:
    """Write the friction of the links; elastic : the actuator file has it, too."""
    for joint, figures in results.joints.items():
        if joint not in model.joint_names:
            raise InputError(
                f"joint '{joint}': the URDF has no such joint; it has "
                f"{', '.join(model.joint_names)}"
            )
        for key in ("viscous", "coulomb"):
            if key in figures and figures[key].value < 0.0:
                figures[key] = not_negative(
                    f"joint '{joint}': {key} friction", figures[key], found.notes
                )
        tag = text.joints[joint].inside.get("dynamics") if joint in text.joints else None
        written = {"viscous": "damping", "coulomb": "friction"} if tag else {}
        for key, figure in figures.items():
            before = tag.number(written[key]) if tag and key in written else None
            remark = "in data.yaml" if key in FRICTION else "not part of the files"
            if key in FRICTION and elastic:
                remark = "in data.yaml and the actuator file"
            remark = "" if key in written else remark
            if key in written and not figure.determined:
                remark = "not determined: kept"
            found.changes.append(Change(joint, key, before, figure, remark))
        if tag:
            viscous, coulomb = (
                figures[key].value if key in figures and figures[key].determined else None
                for key in ("viscous", "coulomb")
            )
            text.set_friction(joint, viscous, coulomb)


def _data_file(model: MultibodyModel, results: Results, *, rigid: bool) -> str:
    """Friction, and the rotors of rigid joints, as YAML for `validate --data`; may be empty."""
    content: dict[str, Any] = {}
    friction = {
        joint: {key: rounded(figures[key].value) for key in FRICTION if key in figures}
        for joint, figures in results.joints.items()
    }
    if friction:
        content["friction"] = friction
    rotors = {
        joint: rounded(figures["inertia"].value)
        for joint, figures in results.motors.items()
        if rigid and joint in model.joint_names and "inertia" in figures
    }
    if rotors:
        content["rotor_inertia"] = rotors
    return str(yaml.safe_dump(content, sort_keys=False)) if content else ""
