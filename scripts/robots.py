#!/usr/bin/env python3
# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Writes docs/robots.md: published descriptions of robots, and whether they are read correctly.

Reads the URDF files of this repository and those of the packages of PACKAGES that are installed.
Each is compared with Pinocchio at a random state, as far as Pinocchio reads it.
"""

from __future__ import annotations

import argparse
import warnings
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pinocchio as pin

from multibody_dynamics import dynamics as dyn

REPOSITORY = Path(__file__).resolve().parents[1]
PAGE = REPOSITORY / "docs" / "robots.md"
PACKAGES = (
    "example-robot-data", "rtb-data", "airo-models", "pybullet",
    "hello-robot-stretch-urdf", "jvrc-description", "dexmate-urdf",
)  # fmt: skip
AGREES = 1e-10  # relative to the largest torque
HEAD = """# Robots

Descriptions that load, with their independent joints, dependent joints (`<mimic>`) and moving
bodies. "Pinocchio" is the largest difference of a torque from that of Pinocchio in one random
state, relative to the largest torque; "-" if Pinocchio does not read the file. Pinocchio reads
the mimics itself (`mimic=True`), or else, if a joint precedes the one that it follows, computes
the tree without them. Written by `python scripts/robots.py`, from this repository and from the
packages {packages}, as far as they are installed.

| robot | file | n | dependent | bodies | Pinocchio |
|---|---|---|---|---|---|
"""


class Row(NamedTuple):
    """One robot: its name and file, its size, and the difference from Pinocchio (None: unread)."""

    robot: str
    file: str
    n: int
    dependent: int
    bodies: int
    difference: float | None

    def line(self) -> str:
        """The row of the table."""
        known = self.difference
        shown = "-" if known is None else "< 1e-10" if known < AGREES else f"**{known:.1g}**"
        cells = (self.robot, f"`{self.file}`", self.n, self.dependent, self.bodies, shown)
        return f"| {' | '.join(map(str, cells))} |"


def sources() -> list[tuple[str, Path]]:
    """The shown name and the path of every URDF file, duplicates aside."""
    found = [(path.name, path) for path in sorted((REPOSITORY / "config/robots").glob("*.urdf"))]
    for package in PACKAGES:
        try:
            listed = files(package) or []
        except PackageNotFoundError:
            continue
        paths = sorted(Path(str(file.locate())) for file in listed if file.suffix == ".urdf")
        found += [(f"{package}: {path.name}", path) for path in paths if path.is_file()]
    unique = {path.read_bytes(): (shown, path) for shown, path in reversed(found)}
    return list(reversed(unique.values()))


def row_of(shown: str, path: Path) -> Row | None:
    """The row of a robot; None for a file that does not load."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dyn.ModelWarning)
        try:
            model = dyn.load_urdf(path, floating_base=True)
        except dyn.DynamicsError:
            return None
    size = (model.n, len(model.couplings), model.body_count)
    return Row(model.name, shown, *size, difference(model, path))


def difference(model: dyn.MultibodyModel, path: Path) -> float | None:
    """The relative difference of the torques from those of Pinocchio in a random state.

    Where Pinocchio cannot read the mimics, from those of its tree without them: Q = G^T Q_tree.
    """
    for mimic in (True, False):
        try:
            other = pin.buildModelFromUrdf(str(path), mimic=mimic)
            break
        except (ValueError, RuntimeError):
            continue
    else:
        return None
    other.gravity.linear = model.gravity
    rows = np.random.default_rng(1).uniform(-1.0, 1.0, (3, model.n))
    q = pin.neutral(other)
    G = np.zeros((other.nv, model.n))
    for joint, name in list(zip(other.joints, other.names, strict=True))[1:]:
        if "Mimic" in joint.shortname():
            continue
        terms, offset = model.couplings.get(name, ({name: 1.0}, model.locked.get(name, 0.0)))
        if name in model.locked:
            terms = {}
        if joint.nv != 1 or not set(terms) <= set(model.joint_names):
            return None  # coordinates of free flyers differ
        for independent, factor in terms.items():
            G[joint.idx_v, model.joint_index(independent)] = factor
        angle = G[joint.idx_v] @ rows[0] + offset
        q[joint.idx_q : joint.idx_q + joint.nq] = (
            (np.cos(angle), np.sin(angle)) if joint.nq == 2 else angle
        )
    velocity, acceleration = G @ rows[1], G @ rows[2]
    theirs = pin.rnea(other, other.createData(), q, velocity, acceleration) @ G
    apart = np.abs(dyn.inverse_dynamics(model, *rows).tau - theirs).max()
    return float(apart / max(np.abs(theirs).max(), np.finfo(float).tiny))


def page() -> str:
    """The whole page."""
    rows = [row for source in sources() if (row := row_of(*source)) is not None]
    lines = "\n".join(row.line() for row in rows)
    return HEAD.format(packages=f"`{'`, `'.join(PACKAGES)}`") + lines + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.parse_args()
    loops = PAGE.read_text(encoding="utf-8").partition("\n## ")  # of scripts/loops.py
    PAGE.write_text(page() + "".join(loops[1:]), encoding="utf-8")
