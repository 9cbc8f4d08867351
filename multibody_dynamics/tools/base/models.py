# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Loads robots without printing the warnings that nodes have already reported."""

import warnings
from pathlib import Path

from ...dynamics import MultibodyModel
from ...dynamics.core import ModelWarning
from ...dynamics.mechanisms import load_robot


def load_quietly(file: str | Path, springs: str | Path | None = None) -> MultibodyModel:
    """:func:`.load_robot` without the loader's warnings: the logs of the nodes contain them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_robot(file, springs)
