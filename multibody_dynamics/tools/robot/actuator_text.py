# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The text of an actuator file (YAML), in which only the numbers that differ are replaced.

Comments, order and units remain: a number is converted to the unit and the side of the gear that
the file states. If anything changes, aliases (`motor: *large`) are replaced by copies of their
entries, since every joint has been identified on its own.
"""

from copy import deepcopy
from typing import Any

import yaml

from ...dynamics.core import InputError
from ...dynamics.core.quantities import RATIO, Dimension, Gear, number, to_link_side
from .identified_results import rounded

DEFAULT = {  # unit of an entry that is added
    "angle": {"revolute": "rad", "prismatic": "m"},
    "damping": {"revolute": "N m s/rad", "prismatic": "N s/m"},
    "force": {"revolute": "N m", "prismatic": "N"},
    "stiffness": {"revolute": "N m/rad", "prismatic": "N/m"},
    "velocity": {"revolute": "rad/s", "prismatic": "m/s"},
}
ROUNDING = 1e-10  # relative, of numbers in files


class ActuatorText:
    """An actuator file. Raises InputError if it is not valid YAML, or merges entries with `<<`."""

    def __init__(self, text: str, where: str) -> None:
        self._given, self._where = text, where
        self._edits: dict[tuple[int, int], str] = {}
        try:
            self._text = _without_aliases(text)
            root = yaml.compose(self._text, yaml.SafeLoader)
        except yaml.YAMLError as error:
            raise InputError(f"{where}: not valid YAML: {error}") from None
        if "<<:" in text:
            raise InputError(f"{where}: merges entries with <<: write them out first")
        self._joints = _child(root, "joints")

    def changed(self) -> bool:
        """Whether there are changes."""
        return bool(self._edits)

    def edited(self, comment: str = "") -> str:
        """The file with all changes, after a comment if there are any."""
        if not self._edits:
            return self._given
        text = self._text
        for (begin, end), new in sorted(self._edits.items(), reverse=True):
            text = text[:begin] + new + text[end:]
        lines = [f"# {line}".rstrip() for line in comment.splitlines()]
        return "\n".join([*lines, text]) if lines else text

    def set_quantity(
        self, joint: str, path: tuple[str, ...], value: float, dimension: Dimension, gear: Gear
    ) -> bool:
        """Set {value, unit, side}, or the plain number of a RATIO, to a value in SI units on the
        link side; add it if absent.

        Returns whether the number changed by more than rounding.
        """
        node = self._find(joint, path)
        if dimension == RATIO:
            if node is None:
                self._insert(joint, path, repr(rounded(value)))
            else:
                self._replace(node, repr(rounded(value)))
            return True
        if node is None:
            unit = DEFAULT[dimension][gear.motions["link"]]
            self._insert(joint, path, f"{{value: {rounded(value)!r}, unit: {unit}, side: link}}")
            return True
        entry = {key.value: each for key, each in node.value}
        plain = {name: each.value for name, each in entry.items()}
        where = f"{self._where}: joint '{joint}': {'.'.join(path)}"
        factor = to_link_side(plain, where, dimension, gear)
        if abs(number(plain["value"], where) * factor - value) <= ROUNDING * abs(value):
            return False
        self._replace(entry["value"], repr(rounded(value / factor)))
        return True

    def scale(self, joint: str, path: tuple[str, ...], factor: float) -> None:
        """Multiply the numbers of a list {values: [...], ...}."""
        node = self._find(joint, path)
        assert node is not None
        for each in _child(node, "values").value:
            self._replace(each, repr(rounded(number(each.value, self._where) * factor)))

    def replace(self, joint: str, path: tuple[str, ...], content: Any) -> None:
        """Replace an entry as a whole, or add it."""
        node = self._find(joint, path)
        if node is None:
            self._insert(joint, path, _flow(content))
        else:
            self._edits[node.start_mark.index, _end(node)] = _flow(content)

    def _replace(self, node: yaml.Node, text: str) -> None:
        self._edits[node.start_mark.index, node.end_mark.index] = text

    def _find(self, joint: str, path: tuple[str, ...]) -> Any:
        """The node at the end of a path, or None."""
        node = _child(self._joints, joint)
        for name in path:
            found = [value for key, value in node.value if key.value == name]
            if not found:
                return None
            (node,) = found
        return node

    def _insert(self, joint: str, path: tuple[str, ...], text: str) -> None:
        """Add an entry at the end of its mapping, in the style of the mapping."""
        node = _child(self._joints, joint)
        for name in path[:-1]:
            node = _child(node, name)
        at = _end(node)
        if node.flow_style:
            at -= 1
            new = f", {path[-1]}: {text}"
        else:
            column = node.value[0][0].start_mark.column
            at = self._text.find("\n", at)
            at = len(self._text) if at < 0 else at
            new = f"\n{' ' * column}{path[-1]}: {text}"
        self._edits[at, at] = self._edits.get((at, at), "") + new


class _Plain(yaml.SafeDumper):
    """Writes no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _child(node: Any, name: str) -> Any:
    for key, value in node.value:
        if key.value == name:
            return value
    raise InputError(f"no entry '{name}'")


def _without_aliases(text: str) -> str:
    """YAML in which every alias is replaced by the entry that it refers to, in one line."""
    tokens = list(yaml.scan(text))
    anchors = {
        token.value: token.start_mark.index
        for token in tokens
        if isinstance(token, yaml.AnchorToken)
    }
    nodes: dict[int, yaml.Node] = {}
    _collect(yaml.compose(text, yaml.SafeLoader), nodes)
    for token in reversed(tokens):
        if isinstance(token, yaml.AliasToken):
            node = nodes[anchors[token.value]]
            begin, end = token.start_mark.index, token.end_mark.index
            text = text[:begin] + _serialized(node) + text[end:]
    return text


def _collect(node: Any, nodes: dict[int, yaml.Node]) -> None:
    """All nodes by the position at which they, or their anchors, begin."""
    nodes[node.start_mark.index] = node
    if isinstance(node, yaml.MappingNode):
        for _, value in node.value:
            _collect(value, nodes)
    elif isinstance(node, yaml.SequenceNode):
        for value in node.value:
            _collect(value, nodes)


def _serialized(node: yaml.Node) -> str:
    """A node in one line, with its numbers as they are written."""
    node = deepcopy(node)
    found: dict[int, yaml.Node] = {}
    _collect(node, found)
    for each in (node, *found.values()):
        if isinstance(each, yaml.CollectionNode):
            each.flow_style = True
    text = yaml.serialize(node, Dumper=_Plain, width=10**6)
    return str(text).removesuffix("\n").removesuffix("\n...").strip()


def _end(node: yaml.Node) -> int:
    """The end of a node's own text: the end mark of a block comes after its trailing comments."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style:
        return int(node.end_mark.index)
    if isinstance(node, yaml.SequenceNode):
        return _end(node.value[-1])
    return max(_end(value) for _, value in node.value)


def _flow(content: Any) -> str:
    """A mapping or a list in one line."""
    text = yaml.dump(content, Dumper=_Plain, default_flow_style=True, sort_keys=False, width=10**6)
    return str(text).strip()
