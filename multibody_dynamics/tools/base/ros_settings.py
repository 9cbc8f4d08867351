# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""ROS settings with which this package's processes discover only each other.

ROS 2 reads its settings from environment variables. This module chooses them for the demo, the
tests and the shell (`multibody_dynamics.tools.environment` prints them). The nodes of a real robot
do not need them: start those nodes with the settings of your own system.
"""

import os
import sys
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ...resources import NAME, share_directory

DOMAIN_VARIABLE = "MULTIBODY_DYNAMICS_DOMAIN_ID"
FAST_DDS = "rmw_fastrtps_cpp"
LAST_DOMAIN = 232  # of ROS 2: the ports of later ones would exceed 65535
DOMAINS = range(1, 102)  # 0 is the default of ROS 2; above 101, ports may already be in use


def ros_settings(
    domain_id: int | None = None, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """The variables to set, for this computer only and a private ROS domain.

    domain_id : by default $MULTIBODY_DYNAMICS_DOMAIN_ID or, if that is not set, a number derived
    from the user and the location of this code. An inherited ROS_DOMAIN_ID is deliberately ignored:
    it may be that of a live robot, whose joints the demo must not move.

    Raises InputError if that variable is not the number of a domain.
    """
    share = share_directory()
    if domain_id is None:
        seed = f"{os.getuid()}:{share}".encode()
        chosen = _chosen_domain(environ.get(DOMAIN_VARIABLE, ""))
        domain_id = DOMAINS[zlib.crc32(seed) % len(DOMAINS)] if chosen is None else chosen
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
        "ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT",  # leaves discovery to these profiles
        "FASTRTPS_DEFAULT_PROFILES_FILE": profiles,
        "FASTDDS_DEFAULT_PROFILES_FILE": profiles,  # the variable's name since Fast DDS 3 (Kilted)
    }


def ros_environment(domain_id: int | None = None) -> dict[str, str]:
    """A copy of this process's environment with `ros_settings`, for a child process."""
    return {**os.environ, **ros_settings(domain_id)}


@contextmanager
def ros_context(domain_id: int | None = None) -> Iterator[Any]:
    """A new rclpy context, by default on the domain of the environment; Python keeps handling
    signals."""
    import rclpy
    from rclpy.context import Context
    from rclpy.signals import SignalHandlerOptions

    context = Context()
    rclpy.init(context=context, domain_id=domain_id, signal_handler_options=SignalHandlerOptions.NO)
    try:
        yield context
    finally:
        rclpy.try_shutdown(context=context)


@contextmanager
def ros_node(name: str, namespace: str = "", domain_id: int | None = None) -> Iterator[Any]:
    """A node that is not spun, in a context of its own."""
    import rclpy

    with ros_context(domain_id) as context:
        node = rclpy.create_node(name, namespace=namespace, context=context)
        try:
            yield node
        finally:
            node.destroy_node()


def _chosen_domain(text: str) -> int | None:
    """The number in $MULTIBODY_DYNAMICS_DOMAIN_ID; None if it is empty. Raises InputError."""
    if not text:
        return None
    with suppress(ValueError):
        if 0 <= (number := int(text)) <= LAST_DOMAIN:
            return number
    from ...dynamics.core import InputError  # here, as this module must load without delay

    raise InputError(f"{DOMAIN_VARIABLE}={text}: must be a ROS domain from 0 to {LAST_DOMAIN}")


def _prefixes(inherited: str) -> str:
    """AMENT_PREFIX_PATH with this Python's own environment, which the ROS 2 wheels do not add."""
    prefixes = [p for p in inherited.split(os.pathsep) if p]
    marker = Path(sys.prefix, "share", "ament_index", "resource_index", "packages", NAME)
    if marker.exists() and sys.prefix not in prefixes:
        prefixes.insert(0, sys.prefix)
    return os.pathsep.join(prefixes)
