"""A robot as a table that a person can hold against a data sheet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .inertia import decompose

if TYPE_CHECKING:
    from .model import MultibodyModel


def describe(model: MultibodyModel) -> str:
    """Joints, axes, masses, centres of mass and inertias, one line each."""
    return "\n".join(f"{j} {decompose(M)}" for j, M in zip(model.joint_names, model.inertias, strict=True))
