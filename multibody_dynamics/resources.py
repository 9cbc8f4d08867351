# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The package's own files: launch/, config/ and package.xml, however it was installed."""

from pathlib import Path

NAME = __name__.partition(".")[0]


def share_directory() -> Path:
    """The folder that holds launch/, config/ and package.xml.

    It is found relative to this code, so code and files always belong together: a checkout (even if
    installed with ``pip install -e`` or ``colcon build --symlink-install``) uses its own files, and
    an installed copy those in share/ of its prefix. Neither ROS nor environment variables are
    needed. Raises FileNotFoundError if there is no such folder.
    """
    package = Path(__file__).resolve().parent
    candidates = [package.parent, *(prefix / "share" / NAME for prefix in package.parents)]
    for folder in candidates:
        if (folder / "package.xml").is_file() and (folder / "config").is_dir():
            return folder
    raise FileNotFoundError(
        f"no share folder of {NAME} belongs to {package}: expected share/{NAME} in one of the "
        "folders above it; reinstall the package with pip or colcon"
    )
