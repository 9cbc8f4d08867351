# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The text of a URDF file, in which only numbers of inertials and friction are replaced.

Expat reports where every tag begins; attributes are found within the tag. Everything else remains
as it is, byte for byte: comments, order, white space, elements of other programs.
"""

import re
from dataclasses import dataclass, field
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np

from ...dynamics.core import Array, InputError
from ...dynamics.lie import se3, so3
from ...dynamics.model.inertia import decompose, spatial_inertia, transform

ATTRIBUTE = re.compile(rb"""([^\s=<>"'/]+)\s*=\s*(?:"([^"]*)"|'([^']*)')""")
SAME = 1e-13  # relative difference that lumping and rotating an inertia may cause by rounding
MATRIX = {"ixx": (0, 0), "ixy": (0, 1), "ixz": (0, 2), "iyy": (1, 1), "iyz": (1, 2), "izz": (2, 2)}


@dataclass
class Tag:
    """A start tag: its bytes from `begin` to `end`."""

    begin: int
    end: int
    attributes: dict[str, tuple[int, int, str]]  # begin and end of the value, value
    is_empty: bool  # <tag/>

    def get(self, name: str, default: str) -> str:
        """The text of an attribute, or the default if it is absent."""
        return self.attributes[name][2] if name in self.attributes else default

    def number(self, name: str) -> float:
        """An attribute as a number; 0 if it is absent."""
        return float(self.get(name, "0"))


@dataclass
class Element:
    """A link or a joint, with the tags in it that matter here, by name."""

    tag: Tag
    inside: dict[str, Tag] = field(default_factory=dict)


class UrdfText:
    """A URDF file, in an ASCII-compatible encoding.

    name : of the file, for error messages.

    Attributes: `links` and `joints`, elements by name; `data`, the bytes of the file. Changes are
    collected by the methods `set_...` and appear in :meth:`edited`.
    """

    def __init__(self, data: bytes, name: str = "the URDF") -> None:
        if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            raise InputError(f"{name} is encoded in UTF-16: convert it to UTF-8 first")
        self.data, self.name = data, name
        self.links: dict[str, Element] = {}
        self.joints: dict[str, Element] = {}
        self.changed: list[str] = []  # links and joints
        self._edits: dict[tuple[int, int], str] = {}
        self._robot = 0
        self._scan()

    # Reading

    def _scan(self) -> None:
        start = len(self.data) - len(self.data.lstrip())
        parser = expat.ParserCreate()
        path: list[str] = []
        current: list[Element] = []

        def on_start(name: str, attributes: dict[str, str]) -> None:
            tag = self._tag(start + parser.CurrentByteIndex, attributes)
            path.append(name)
            depth = len(path)
            if depth == 1:
                self._robot = tag.end
            elif depth == 2 and name in ("link", "joint"):
                group = self.links if name == "link" else self.joints
                current[:] = [Element(tag)]
                group[attributes.get("name", "")] = current[0]
            elif path[1] in ("link", "joint") and (depth == 3 or path[2] == "inertial"):
                current[0].inside["/".join(path[2:])] = tag

        def on_end(name: str) -> None:
            path.pop()

        parser.StartElementHandler, parser.EndElementHandler = on_start, on_end
        parser.Parse(self.data[start:], True)

    def _tag(self, begin: int, attributes: dict[str, str]) -> Tag:
        """The start tag at `begin`; a > within quotes does not end it."""
        at = begin
        places = {}
        while True:
            found = ATTRIBUTE.search(self.data, at)
            close = self.data.index(b">", at)
            if found is None or found.start() > close:
                break
            group = 2 if found.group(2) is not None else 3
            name = found.group(1).decode(errors="replace")
            places[name] = (*found.span(group), attributes.get(name, ""))
            at = found.end()
        return Tag(begin, close + 1, places, self.data[close - 1 : close] == b"/")

    def inertia(self, link: str) -> Array | None:
        """M (6, 6) of a link about the origin of its frame; None without an <inertial>."""
        inside = self.links[link].inside
        if "inertial" not in inside:
            return None
        C = origin_pose(inside.get("inertial/origin"))
        about_com = C[:3, :3] @ self._moments(link) @ C[:3, :3].T
        return spatial_inertia(inside["inertial/mass"].number("value"), C[:3, 3], about_com)

    def _moments(self, link: str) -> Array:
        tag = self.links[link].inside["inertial/inertia"]
        moments = np.zeros((3, 3))
        for name, (i, j) in MATRIX.items():
            moments[i, j] = moments[j, i] = tag.number(name)
        return moments

    # Changing

    def set_inertia(self, link: str, M: Array) -> bool:
        """Give a link the spatial inertia M (6, 6) about its origin; returns whether it changed.

        The rotation of the inertial's axes is kept; numbers that differ only by rounding are, too.
        """
        element = self.links[link]
        mass, com, about_com = decompose(M)
        before = self.inertia(link)
        if before is None:
            self._insert_inertial(link, element, mass, com, about_com)
            self.changed.append(link)
            return True
        R = origin_pose(element.inside.get("inertial/origin"))[:3, :3]
        moments = R.T @ about_com @ R
        old_mass, old_com, _ = decompose(before)
        count = len(self._edits)
        inside = element.inside
        if abs(mass - old_mass) > SAME * abs(M[3:, 3:]).max():
            self._set(inside["inertial/mass"], "value", _text(mass))
        if np.abs(com - old_com).max() > SAME * max(1.0, np.abs(com).max()):
            self._set_com(inside, com)
        known, scale = self._moments(link), np.abs(M[:3, :3]).max()
        for name, (i, j) in MATRIX.items():
            if abs(moments[i, j] - known[i, j]) > SAME * scale:
                self._set(inside["inertial/inertia"], name, _text(moments[i, j]))
        if len(self._edits) == count:
            return False
        self.changed.append(link)
        return True

    def set_friction(self, joint: str, viscous: float | None, coulomb: float | None) -> bool:
        """Set <dynamics damping friction> of a joint, if it has one; returns whether it changed."""
        tag = self.joints[joint].inside.get("dynamics")
        if tag is None:
            return False
        count = len(self._edits)
        for name, value in (("damping", viscous), ("friction", coulomb)):
            if value is not None and abs(tag.number(name) - value) > SAME * abs(value):
                self._set(tag, name, _text(value))
        if len(self._edits) == count:
            return False
        self.changed.append(joint)
        return True

    def edited(self, comment: str = "") -> bytes:
        """The file with all changes, and a comment after the tag <robot> if there are any."""
        if not self._edits:
            return self.data
        edits = dict(self._edits)
        if comment:
            newline = self._newline()
            safe = re.sub("-{2,}", lambda run: " ".join(run[0]), comment).rstrip("-")
            body = newline.join(safe.splitlines())
            edits[self._robot, self._robot] = f"{newline}  <!-- {body} -->"
        data, at = b"", 0
        for (begin, end), text in sorted(edits.items()):
            data += self.data[at:begin] + text.encode("ascii", "xmlcharrefreplace")
            at = end
        return data + self.data[at:]

    def _set(self, tag: Tag, name: str, text: str) -> None:
        if name in tag.attributes:
            begin, end, _ = tag.attributes[name]
            self._edits[begin, end] = text
            return
        at = tag.end - (2 if tag.is_empty else 1)
        while self.data[at - 1 : at].isspace():
            at -= 1
        self._edits[at, at] = self._edits.get((at, at), "") + f' {name}="{text}"'

    def _set_com(self, inside: dict[str, Tag], com: Array) -> None:
        text = " ".join(map(_text, com))
        if "inertial/origin" in inside:
            self._set(inside["inertial/origin"], "xyz", text)
            return
        first = min(inside["inertial/mass"].begin, inside["inertial/inertia"].begin)
        self._edits[first, first] = f'<origin xyz="{text}"/>{self._indent(first)}'

    def _insert_inertial(
        self, link: str, element: Element, mass: float, com: Array, about_com: Array
    ) -> None:
        tag = element.tag
        outer = self._indent(tag.begin)
        inner = f"{outer}  "
        block = inner + inertial_block(mass, com, about_com, inner)
        if tag.is_empty:  # <link name="..."/> becomes <link name="..."> ... </link>
            slash = tag.end - 2
            self._edits[slash, tag.end] = f">{block}{outer}</link>"
        else:
            self._edits[tag.end, tag.end] = block

    def _indent(self, at: int) -> str:
        """A new line, indented like that of a tag which begins at `at`."""
        line = self.data.rfind(b"\n", 0, at) + 1
        before = self.data[line:at]
        return self._newline() + (before.decode() if not before.strip() else "")

    def _newline(self) -> str:
        return "\r\n" if b"\r\n" in self.data else "\n"


def numbers_of(tag: ElementTree.Element | Tag | None, name: str, default: str) -> Array:
    """An attribute with several numbers; the default if it, or the tag, is absent."""
    return np.array((default if tag is None else tag.get(name, default)).split(), dtype=float)


def origin_pose(origin: ElementTree.Element | Tag | None) -> Array:
    """The pose (4, 4) of an <origin>, the identity without one."""
    xyz, (roll, pitch, yaw) = (numbers_of(origin, name, "0 0 0") for name in ("xyz", "rpy"))
    R = so3.exp((0, 0, yaw)) @ so3.exp((0, pitch, 0)) @ so3.exp((roll, 0, 0))
    return se3.from_rotation_translation(R, xyz)


def inertial_block(mass: float, com: Array, about_com: Array, newline: str = "\n") -> str:
    """An <inertial> in the axes of the link; `newline` begins each of its lines."""
    moments = " ".join(f'{name}="{_text(about_com[i, j])}"' for name, (i, j) in MATRIX.items())
    return newline.join(
        (
            "<inertial>",
            f'  <origin xyz="{" ".join(map(_text, com))}" rpy="0 0 0"/>',
            f'  <mass value="{_text(mass)}"/>',
            f"  <inertia {moments}/>",
            "</inertial>",
        )
    )


def moved(M: Array, pose: Array) -> Array:
    """A spatial inertia of the body's frame in the frame of a link fixed to it with this pose."""
    return transform(M, se3.inverse(pose))


def _text(value: Any) -> str:
    """A number with 15 digits, which do not show the rounding of the computation."""
    return f"{float(value):.15g}"
