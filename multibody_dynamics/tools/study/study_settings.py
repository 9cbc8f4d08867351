# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""What the user chose to study."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...dynamics.core import InputError
from ...simulation.mujoco_robot import import_mujoco
from .conditions import chosen_groups
from .studied_laws import chosen_laws
from .studied_robots import STIFFNESSES, RobotSource, built_in_robots, own_robot
from .study_plan import POSES, Study

DRAWS, QUICK_DRAWS = 20, 2
QUICK_POSES = 30
QUICK_ROBOTS = ("panda",)
QUICK_LAWS = ("main",)
QUICK_CONDITIONS = ("exact", "error", "delay", "contact")
QUICK_STIFFNESSES = (1.0,)


# wide: the options of the command, keyword-only
def chosen_study(
    *,
    robots: Sequence[str] | None = None,
    urdf: Path | None = None,
    springs: Path | None = None,
    stiffnesses: Sequence[float] | None = None,
    laws: Sequence[str] | None = None,
    conditions: Sequence[str] | None = None,
    plant: str = "internal",
    draws: int | None = None,
    seed: int = 0,
    is_quick: bool = False,
) -> Study:
    """The study with these options; None selects the default, or that of --quick.

    Raises InputError for names and combinations that do not exist, and DynamicsError if MuJoCo is
    needed and not installed.
    """
    if plant != "internal":
        import_mujoco()
    if stiffnesses is None:
        stiffnesses = QUICK_STIFFNESSES if is_quick else STIFFNESSES
    for factor in stiffnesses:
        if not 0.01 <= factor <= 100.0:
            raise InputError(f"--stiffness {factor:g}: must be from 0.01 to 100")
    for factor in stiffnesses:
        if stiffnesses.count(factor) > 1:
            raise InputError(f"--stiffness: {factor:g} is given twice")
    if seed < 0:
        raise InputError(f"--seed {seed}: must be zero or greater")
    return Study(
        robots=_robots(robots or (QUICK_ROBOTS if is_quick else ("all",)), robots, urdf, springs),
        stiffnesses=tuple(stiffnesses),
        laws=chosen_laws(laws or (QUICK_LAWS if is_quick else ("all",))),
        groups=chosen_groups(conditions or (QUICK_CONDITIONS if is_quick else ("all",))),
        plant=plant,
        draws=draws or (QUICK_DRAWS if is_quick else DRAWS),
        seed=seed,
        poses=QUICK_POSES if is_quick else POSES,
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
