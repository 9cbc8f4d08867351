# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What the user chose to study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...dynamics.core import InputError
from ...simulation.mujoco_robot import import_mujoco
from .conditions import chosen_groups
from .studied_laws import chosen_laws
from .studied_robots import STIFFNESSES, RobotSource, built_in_robots, own_robot
from .study_plan import POSES, Study

WHOLE = {"robots": ("all",), "stiffnesses": STIFFNESSES, "laws": ("all",), "conditions": ("all",),
         "draws": 20, "poses": POSES}  # fmt: skip
QUICK = {"robots": ("panda",), "stiffnesses": (1.0,), "laws": ("main",),
         "conditions": ("exact", "error", "delay", "contact"), "draws": 2, "poses": 30}  # fmt: skip


def chosen_study(
    *,
    urdf: Path | None = None,
    springs: Path | None = None,
    plant: str = "internal",
    seed: int = 0,
    is_quick: bool = False,
    **chosen: Any,
) -> Study:
    """The study with these options; those of WHOLE have its values or, with `is_quick`, those of
    QUICK, unless they are given and not None.

    Raises InputError for names and combinations that do not exist, and DynamicsError if MuJoCo is
    needed and not installed.
    """
    if plant != "internal":
        import_mujoco()
    given = {name: value for name, value in chosen.items() if value}
    options = (QUICK if is_quick else WHOLE) | given
    stiffnesses = tuple(options["stiffnesses"])
    for factor in stiffnesses:
        if not 0.01 <= factor <= 100.0:
            raise InputError(f"--stiffness {factor:g}: must be from 0.01 to 100")
        if stiffnesses.count(factor) > 1:
            raise InputError(f"--stiffness: {factor:g} is given twice")
    if seed < 0:
        raise InputError(f"--seed {seed}: must be zero or greater")
    return Study(
        robots=_robots(options["robots"], given.get("robots"), urdf, springs),
        stiffnesses=stiffnesses,
        laws=chosen_laws(options["laws"]),
        groups=chosen_groups(options["conditions"]),
        plant=plant,
        draws=options["draws"],
        seed=seed,
        poses=options["poses"],
    )


def _robots(
    names: Sequence[str], given: Sequence[str] | None, urdf: Path | None, springs: Path | None
) -> tuple[RobotSource, ...]:
    if urdf is not None or springs is not None:
        if urdf is None or springs is None:
            raise InputError("--urdf and --elastic-joints: your own robot needs both")
        if given:
            raise InputError("--robots and --urdf: choose one of them")
        return (own_robot(urdf, springs),)
    built_in = built_in_robots()
    for name in names:
        if name not in built_in and name != "all":
            raise InputError(f"robot '{name}': expected all or some of {', '.join(built_in)}")
    return tuple(robot for name, robot in built_in.items() if name in names or "all" in names)
