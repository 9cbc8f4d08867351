# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The names of the library rosbags, which reads and writes bags; it is optional.

No rosdep key installs rosbags without pip. Without it, everything works except bags: the first use
of one of these names then raises an InputError that says what to install.
"""

from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from ...dynamics.core import InputError

try:
    from rosbags import interfaces
    from rosbags.rosbag2 import Reader, StoragePlugin, Writer, WriterError
    from rosbags.rosbag2.metadata import dump_qos_v9
    from rosbags.typesys import Stores, TypesysError, get_types_from_msg, get_typestore
except ImportError as error:
    _reason = str(error)

    class _Missing:
        """In place of every name: raises InputError when called, or when an attribute is read."""

        def __call__(self, *arguments: Any, **options: Any) -> NoReturn:
            raise InputError(
                f"bags require the Python package rosbags ({_reason}); install it with"
                " pip install 'rosbags>=0.11'"
            )

        def __getattr__(self, name: str) -> NoReturn:
            self()

    class WriterError(Exception): ...  # type: ignore[no-redef]

    class TypesysError(Exception): ...  # type: ignore[no-redef]

    interfaces = Reader = StoragePlugin = Writer = _Missing()
    dump_qos_v9 = Stores = get_types_from_msg = get_typestore = _Missing()


def require_bags() -> None:
    """Raise InputError if bags cannot be read and written here."""
    if isinstance(Reader, type):
        return
    Reader()


def new_bag(path: Path) -> Writer:
    """The writer of a bag at a path where there is none, in the format that this package writes."""
    return Writer(path, version=9, storage_plugin=StoragePlugin.MCAP)


def latched_quality() -> Any:
    """The quality of service of a reliable, latched topic such as robot_description."""
    never = interfaces.QosTime(2147483647, 4294967295)
    return interfaces.Qos(
        interfaces.QosHistory.KEEP_LAST,
        1,
        interfaces.QosReliability.RELIABLE,
        interfaces.QosDurability.TRANSIENT_LOCAL,
        never,
        never,
        interfaces.QosLiveliness.AUTOMATIC,
        never,
        False,
    )


def message_types() -> Any:
    """The types of the messages, which serialise and deserialise them."""
    return get_typestore(Stores.ROS2_JAZZY)


COMPRESSIONS = {"lz4": ["lz4.frame"], "zstd": ["compression.zstd", "backports.zstd"]}
"""The modules with which rosbags decompresses, of which the first one there is used."""


def decompressed(compression: str, data: bytes) -> bytes:
    """The data of an MCAP chunk, or of a compressed message.

    Raises ValueError for an unknown compression, and the errors of its library.
    """
    if compression == "":
        return data
    for name in COMPRESSIONS.get(compression, ()):
        with suppress(ModuleNotFoundError):
            return bytes(import_module(name).decompress(data))
    raise ValueError(f"unknown compression {compression!r}")


__all__ = [
    "Reader", "StoragePlugin", "Stores", "TypesysError", "Writer", "WriterError",
    "decompressed", "dump_qos_v9", "get_types_from_msg", "get_typestore", "interfaces",
    "latched_quality", "message_types", "new_bag", "require_bags",
]  # fmt: skip
