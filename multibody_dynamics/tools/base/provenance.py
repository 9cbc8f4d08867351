# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Where results come from, for reports: versions of the software, and digests of files."""

import hashlib
import os
import platform
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

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


def digest_of(path: Path, digits: int = 16) -> str:
    """The first digits of the SHA-256 of a file, or of all files of a folder in their order."""
    found = hashlib.sha256()
    files = sorted(each for each in path.rglob("*") if each.is_file()) if path.is_dir() else [path]
    for file in files:
        with file.open("rb") as stream:
            while block := stream.read(1 << 20):
                found.update(block)
    return found.hexdigest()[:digits]
