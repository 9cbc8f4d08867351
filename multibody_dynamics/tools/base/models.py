"""Robots for the analysis of what nodes did with them."""

from __future__ import annotations

import warnings
from pathlib import Path

from ...dynamics import MultibodyModel, load_urdf
from ...dynamics.core import ModelWarning


def load_quietly(file: str | Path) -> MultibodyModel:
    """A robot without the loader's warnings, which are in the logs of the nodes already."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return load_urdf(file)
