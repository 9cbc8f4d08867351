# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Loads robots when nodes have already reported the loader's warnings."""

import warnings
from pathlib import Path

from ...dynamics import MultibodyModel, load_urdf
from ...dynamics.core import ModelWarning


def load_quietly(file: str | Path, springs: str | Path | None = None) -> MultibodyModel:
    """Load a robot without printing the loader's warnings: the logs of the nodes contain them.

    springs : the YAML file of its springs and motors, for its couplings.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_urdf(file, couplings=springs)
