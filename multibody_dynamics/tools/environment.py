"""The environment in which this package's processes find each other, and nobody else finds them.

ROS 2 reads its settings from environment variables, so they are chosen here, once, for the demo,
the tests and the shell alike::

    eval "$(python -m multibody_dynamics.tools.environment)"

prints them as `export` lines for a shell. A real robot's nodes do not need this: start those with
the settings of your own system.
"""

from __future__ import annotations

import os
import shlex
import sys
import zlib
from collections.abc import Mapping
from pathlib import Path

from ..resources import NAME, share_directory

DOMAIN_VARIABLE = "MULTIBODY_DYNAMICS_DOMAIN_ID"
FAST_DDS = "rmw_fastrtps_cpp"
DOMAINS = range(1, 102)  # the default 0 is everybody's; from 102 on, ports may already be in use


def ros_settings(
    domain_id: int | None = None, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The variables to set, for one computer and a ROS domain of our own.

    `domain_id`: else $MULTIBODY_DYNAMICS_DOMAIN_ID, else a number made from the user and the place
    of this code. An inherited ROS_DOMAIN_ID is not used on purpose: it may be that of a live robot,
    whose joints the demo must not move.
    """
    share = share_directory()
    if domain_id is None:
        chosen = environ.get(DOMAIN_VARIABLE)
        seed = f"{os.getuid()}:{share}".encode()
        domain_id = int(chosen) if chosen else DOMAINS[zlib.crc32(seed) % len(DOMAINS)]
    settings = {
        "AMENT_PREFIX_PATH": _prefixes(environ.get("AMENT_PREFIX_PATH", "")),
        "ROS_DOMAIN_ID": str(domain_id),
        "ROS_STATIC_PEERS": "",
    }
    middleware = environ.get("RMW_IMPLEMENTATION", FAST_DDS)
    if middleware != FAST_DDS:
        return settings | {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
    profiles = str(share / "config" / "fastdds_localhost.xml")
    return settings | {
        "RMW_IMPLEMENTATION": FAST_DDS,
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT",  # that is, of these profiles
        "FASTRTPS_DEFAULT_PROFILES_FILE": profiles,
        "FASTDDS_DEFAULT_PROFILES_FILE": profiles,  # its name from Fast DDS 3 (Kilted) on
    }


def ros_environment(domain_id: int | None = None) -> dict[str, str]:
    """A copy of this process's environment with `ros_settings`, for a child process."""
    return {**os.environ, **ros_settings(domain_id)}


def _prefixes(inherited: str) -> str:
    """AMENT_PREFIX_PATH with the environment of this Python: the wheels of ROS 2 do not add it."""
    prefixes = [p for p in inherited.split(os.pathsep) if p]
    marker = Path(sys.prefix, "share", "ament_index", "resource_index", "packages", NAME)
    if marker.exists() and sys.prefix not in prefixes:
        prefixes.insert(0, sys.prefix)
    return os.pathsep.join(prefixes)


if __name__ == "__main__":
    for key, value in ros_settings().items():
        print(f"export {key}={shlex.quote(value)}")
