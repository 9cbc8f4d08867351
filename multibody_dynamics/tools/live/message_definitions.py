# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Definitions and hashes of message types, from the installed packages."""

import os
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from ...dynamics.core import InputError
from ...validation.recordings.bag_library import (
    Stores,
    TypesysError,
    get_types_from_msg,
    get_typestore,
)

HEADER = "std_msgs/msg/Header"


class MessageType(NamedTuple):
    """A message type: its class, and what a bag says about it."""

    name: str
    message: Any
    definition: str
    hash: str
    is_stamped: bool  # whether the first field is a std_msgs/Header


class MessageTypes:
    """Looks up message types by names such as `sensor_msgs/msg/JointState`.

    Definitions are read from the .msg files in the share folders of AMENT_PREFIX_PATH; types of the
    standard packages are known without them.
    """

    def __init__(self) -> None:
        self._store = get_typestore(Stores.ROS2_JAZZY)
        prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        self._shares = [Path(prefix, "share") for prefix in prefixes if prefix]
        self._read: set[str] = set()

    def find(self, name: str) -> MessageType:
        """The type of this name. Raises InputError if its package is not installed or lacks a
        readable definition."""
        package, _, rest = name.partition("/")
        try:
            message = getattr(import_module(f"{package}.msg"), rest.removeprefix("msg/"))
        except (ImportError, AttributeError):
            raise InputError(f"type {name}: the package {package} is not installed here") from None
        try:
            self._add(name)
            definition, _ = self._store.generate_msgdef(name, ros_version=2)
            digest = self._store.hash_rihs01(name)
        except (TypesysError, KeyError, OSError, UnicodeDecodeError) as error:
            raise InputError(f"type {name}: no readable definition: {error}") from None
        fields = self._store.fielddefs[name][1]
        first = fields[0][1][1] if fields else None
        return MessageType(name, message, definition, digest, first == HEADER)

    def _add(self, name: str) -> None:
        """Read the definition of a type and of those that it contains."""
        if name in self._read:
            return
        self._read.add(name)
        for share in self._shares:
            file = share / f"{name}.msg"
            if file.is_file():
                found = get_types_from_msg(file.read_text(encoding="utf-8"), name)
                self._store.register(found)
                break
        for _, kind in self._store.fielddefs[name][1]:
            for inner in _names(kind):
                self._add(inner)


def _names(kind: Any) -> list[str]:
    """The message types in a field's type, as rosbags describes it."""
    if isinstance(kind, tuple):
        return [name for part in kind for name in _names(part)]
    return [kind] if isinstance(kind, str) and kind.count("/") == 2 else []
