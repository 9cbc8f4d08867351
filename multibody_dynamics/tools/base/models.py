# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Loads robots: with the loops in the file of their springs, or without printing the warnings that
nodes have already reported."""

import warnings
from pathlib import Path
from typing import Any

from ...dynamics import MultibodyModel, load_urdf
from ...dynamics.core import ModelWarning
from ...dynamics.mechanisms import close_loops
from ...dynamics.model import STANDARD_GRAVITY, load_couplings


def load_robot(
    file: str | Path, springs: str | Path | None = None, gravity: Any = STANDARD_GRAVITY
) -> MultibodyModel:
    """The robot of a URDF file, with the couplings and loops in the YAML file of its springs.

    Raises the errors of :func:`.load_urdf` and :func:`.close_loops`.
    """
    if springs is None:
        return load_urdf(file, gravity)
    return close_loops(springs, load_urdf(file, gravity, couplings=load_couplings(springs)))


def load_quietly(file: str | Path, springs: str | Path | None = None) -> MultibodyModel:
    """Load a robot without printing the loader's warnings: the logs of the nodes contain them.

    springs : the YAML file of its springs and motors, for its couplings.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_urdf(file, couplings=springs)
