# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Versions of the software, for reports."""

import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version

from ... import __version__


def versions(packages: Iterable[str]) -> dict[str, str]:
    """Versions of this package, of Python and of other packages, which may be packages of ROS."""
    found = {"multibody_dynamics": __version__, "python": platform.python_version()}
    for package in packages:
        found[package] = "not installed"
        for name in (f"ros-{os.environ.get('ROS_DISTRO', 'jazzy')}-{package}", package):
            try:
                found[package] = version(name)
            except PackageNotFoundError:
                continue
    return found
