# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""ROS parameters declared from one table: a frozen dataclass whose fields are the parameters.

A field defines name, type and default, and through `parameter(...)` description, unit, range or
choices, and whether the parameter may change while the node is configured (`live`). The node reads
its values from one immutable instance of that class, which is replaced as a whole once a change has
passed all checks; the control cycle therefore never sees a partial change.

A node lists only the parameters that most users need (:meth:`NodeParameters.listed`), and those
that were given at startup. All others have their defaults, and are declared when they are first
set, read or described by name.
"""

import dataclasses
import math
import re
import sys
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, ClassVar, Generic, TypeVar

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import (
    InvalidParameterTypeException,
    InvalidParameterValueException,
    ParameterNotDeclaredException,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from ...dynamics.core import InputError
from ...dynamics.core import setting as parameter
from .parameter_files import missed_sections, parameter_files

TYPES = {
    bool: Parameter.Type.BOOL,
    int: Parameter.Type.INTEGER,
    float: Parameter.Type.DOUBLE,
    str: Parameter.Type.STRING,
    tuple[str, ...]: Parameter.Type.STRING_ARRAY,
    tuple[float, ...]: Parameter.Type.DOUBLE_ARRAY,
    tuple[int, ...]: Parameter.Type.INTEGER_ARRAY,
}
NEEDS_POINT = re.compile("of type 'INTEGER.* expecting type 'DOUBLE")
NAMES_WITHOUT_QUOTES = {
    (Parameter.Type.STRING, Parameter.Type.INTEGER),
    (Parameter.Type.STRING_ARRAY, Parameter.Type.INTEGER_ARRAY),
}


class ParameterError(InputError):
    """An invalid parameter or combination of parameters; the text names them."""


@dataclass(frozen=True)
class NodeParameters:
    """The parameters of every node in this package. Subclasses add theirs and extend `check`.

    physics : {parameter: (value without effect, nodes that have it)}, which other nodes refuse, as
        they would compute other dynamics. Any other unknown parameter is ignored with a warning.
    """

    physics: ClassVar[Mapping[str, tuple[Any, tuple[str, ...]]]] = {}

    # fmt: off
    autostart: bool = parameter(False,
        meaning="configure and activate at startup, without a lifecycle manager or launch file")
    executor: str = parameter("events", choices=("events", "single"),
        meaning="executor of the callbacks: 'events' uses half the CPU time of 'single', which"
        " replaces it if rclpy has no EventsExecutor")
    scheduling_priority: int = parameter(0, bounds=(0, 99), startup=True,
        meaning="real-time priority (SCHED_FIFO) of the thread of the cycle, once the node has been"
        " configured; the other threads of the process get one less; 0: normal priority")
    lock_memory: bool = parameter(False, startup=True,
        meaning="lock the memory of the process, so it is not swapped out (mlockall)")
    keep_awake: bool = parameter(False, startup=True,
        meaning="keep processors without work out of idle states (/dev/cpu_dma_latency), so that"
        " they react sooner; costs power")
    processors: tuple[int, ...] = parameter((), startup=True,
        meaning="processors on which the process may run, numbered from 0; empty: no restriction by"
        " the node")
    # fmt: on

    def listed(self) -> set[str]:
        """The names of the parameters that the node lists, whether they have been used or not."""
        return {field.name for field in dataclasses.fields(self)}

    def check(self) -> None:
        """Raise ParameterError for values that are inconsistent with each other."""

    def _require_unique(self, *names: str) -> None:
        """Raise ParameterError if one of these lists of names has duplicates."""
        for name in names:
            values = getattr(self, name)
            if len(set(values)) < len(values):
                raise ParameterError(f"{name} has duplicate names: {', '.join(values)}")

    def _require_three(self, *names: str) -> None:
        """Raise ParameterError unless each of these vectors has three components."""
        for name in names:
            count = len(getattr(self, name))
            if count != 3:
                raise ParameterError(f"{name} has {count} values; expected 3: x, y, z")


P = TypeVar("P", bound=NodeParameters)


class UnknownParameter(ParameterNotDeclaredException):
    """A parameter that the node does not have."""

    def __init__(self, text: str) -> None:
        Exception.__init__(self, text)


class ParameterServer(Generic[P]):
    """Declares the fields of `table` on `node` and keeps their current `values`.

    is_configured: whether parameters that are not live are fixed now.
    check: raises InputError for new values that contradict the configuration.
    on_change: called with the new values after a change.
    The constructor raises ParameterError for an invalid override.
    """

    def __init__(
        self,
        node: Node,
        table: type[P],
        *,
        is_configured: Callable[[], bool] = lambda: False,
        check: Callable[[P], None] = lambda values: None,
        on_change: Callable[[P], None] = lambda values: None,
    ) -> None:
        self.values = table()
        self._node, self._types = node, field_types(table)
        self._fields = {field.name: field for field in dataclasses.fields(table)}
        self._is_configured = is_configured
        self._check, self._on_change = check, on_change
        self._is_declaring = False
        self.declare(node._parameter_overrides)
        self._announces = hasattr(node, "add_post_set_parameters_callback")  # Humble has none
        self.declare(self.values.listed() if self._announces else self._fields)
        self.values.check()
        self._report_unused_overrides(node)
        node.add_on_set_parameters_callback(self._on_set)
        if self._announces:
            node.add_pre_set_parameters_callback(self._before_set)
            node.add_post_set_parameters_callback(self._after_set)

    def declare(self, names: Iterable[str]) -> None:
        """Declare those of these parameters that the node has and that it does not list yet."""
        if self._is_declaring:
            return
        wanted = set(names)
        self._is_declaring = True
        try:
            for name in self._fields:
                if name in wanted and not self._node.has_parameter(name):
                    found = self._declared(name)
                    self.values = dataclasses.replace(self.values, **self._checked([found]))
        finally:
            self._is_declaring = False

    def _declared(self, name: str) -> Parameter:
        """A parameter, declared with its override or its value. Raises ParameterError."""
        value, kind = _to_ros(getattr(self.values, name)), self._types[name]
        overrides = self._node._parameter_overrides
        if name in overrides:
            overrides[name] = self._as_text(overrides[name])
        try:
            found = self._node.declare_parameter(
                name, kind if value in ([], None) else value, _descriptor(self._fields[name])
            )
        except (InvalidParameterTypeException, InvalidParameterValueException) as error:
            hint = "; write 1.0, not 1" if NEEDS_POINT.search(str(error)) else ""
            raise ParameterError(f"parameter '{name}': {error}{hint}") from None
        if found.type_ == Parameter.Type.NOT_SET:
            # rclpy cannot infer the type of an empty list, so only the type was declared; with a
            # parameter that has no value, `ros2 param dump` prints {}.
            found = Parameter(name, kind, value)
            self._node.set_parameters([found])
        return found

    def _as_text(self, item: Parameter) -> Parameter:
        """The parameter, with integers as text where it holds names: ROS reads `[1, 2]`, joints of
        many small arms, as numbers."""
        kind = self._types.get(item.name)
        if (kind, item.type_) not in NAMES_WITHOUT_QUOTES:
            return item
        is_list = kind == Parameter.Type.STRING_ARRAY
        return Parameter(item.name, kind, [*map(str, item.value)] if is_list else str(item.value))

    def _report_unused_overrides(self, node: Node) -> None:
        """Report misspelt names of parameters or of the node, which rclpy ignores silently.

        Raises ParameterError for a parameter that changes the dynamics.
        """
        given, log = node._parameter_overrides, node.get_logger()
        name, full = node.get_name(), node.get_fully_qualified_name()
        for unused in given:
            if node.has_parameter(unused) or unused.startswith("qos_overrides."):
                continue
            without_effect, owners = self.values.physics.get(unused, (given[unused].value, ()))
            if given[unused].value != without_effect:
                raise ParameterError(
                    f"{full} has no parameter '{unused}', and would compute the dynamics without"
                    f" its effect; remove it, or use a node that has it: {', '.join(owners)}"
                )
            log.warning(f"ignored {self._unknown(unused)}")
        missed = {}
        for file in parameter_files(sys.argv):
            try:
                missed[file] = missed_sections(file, full)
            except InputError as error:  # rcl has read it, such as the last of two values
                log.warning(str(error))
        for file, sections in missed.items():
            for section in sections:
                log.warning(
                    f"{file}: the section '{section}' is not for {full}: for a node in a namespace,"
                    f" it begins with '/**/{name}:'"
                )
        if not given and "--params-file" in sys.argv and not any(missed.values()):
            log.warning(
                f"the parameter file has no section for {full}: add"
                f" one that begins with '{name}:' or, for a node in a namespace, '/**/{name}:'"
                if "--ros-args" in sys.argv
                else "the parameter file is ignored: put --ros-args before --params-file"
            )

    def _unknown(self, name: str) -> str:
        meant = get_close_matches(name, self._fields, 1)
        return f"unknown parameter '{name}'" + (f"; did you mean '{meant[0]}'?" if meant else "")

    def _checked(self, parameters: Sequence[Parameter]) -> dict[str, Any]:
        """The values of those parameters that are in the table. Raises ParameterError."""
        changes = {}
        for item in parameters:
            field = self._fields.get(item.name)
            if field is None:  # use_sim_time and QoS overrides have their own callbacks
                continue
            value = tuple(item.value or ()) if isinstance(field.default, tuple) else item.value
            choices = field.metadata["choices"]
            if choices and value not in choices:
                raise ParameterError(f"{item.name} is '{value}'; choose from {', '.join(choices)}")
            numbers = value if isinstance(value, tuple) else (value,)
            if any(isinstance(x, float) and not math.isfinite(x) for x in numbers):
                raise ParameterError(f"{item.name} is {value}; must be finite")
            changes[item.name] = value
        return changes

    def _before_set(self, parameters: Sequence[Parameter]) -> Sequence[Parameter]:
        self.declare(item.name for item in parameters)
        for item in parameters:
            if not self._node.has_parameter(item.name):
                raise UnknownParameter(self._unknown(item.name))
        return [self._as_text(item) for item in parameters]

    def _on_set(self, parameters: Sequence[Parameter]) -> SetParametersResult:
        if self._is_declaring:
            return SetParametersResult(successful=True)
        try:
            changes = self._checked(parameters)
            for name, value in changes.items():
                data = self._fields[name].metadata
                if data["startup"] and value != getattr(self.values, name):
                    raise ParameterError(f"{name} is fixed at startup; restart the node")
                if (
                    not data["live"]
                    and self._is_configured()
                    and value != getattr(self.values, name)
                ):
                    raise ParameterError(
                        f"{name} is fixed once the node is configured; clean up the node first"
                    )
            values = dataclasses.replace(self.values, **changes)
            values.check()
            self._check(values)
        except InputError as error:
            return SetParametersResult(successful=False, reason=str(error))
        if not self._announces:
            self._after_set(parameters)
        return SetParametersResult(successful=True)

    def _after_set(self, parameters: Sequence[Parameter]) -> None:
        changes = {} if self._is_declaring else self._checked(parameters)
        if changes:
            self.values = dataclasses.replace(self.values, **changes)
            self.declare(self.values.listed())
            self._on_change(self.values)


def field_types(table: type[NodeParameters]) -> dict[str, Parameter.Type]:
    """The ROS type of every parameter, from the annotation of its field."""
    hints = typing.get_type_hints(table)
    return {field.name: TYPES[hints[field.name]] for field in dataclasses.fields(table)}


def _when_fixed(data: Mapping[str, Any]) -> str:
    if data["startup"]:
        return "fixed at startup"
    return "" if data["live"] else "fixed once the node is configured"


def _to_ros(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _descriptor(field: dataclasses.Field[Any]) -> ParameterDescriptor:
    data = field.metadata
    unit = f" [{data['unit']}]" if data["unit"] else ""
    descriptor = ParameterDescriptor(
        description=data["description"] + unit,
        additional_constraints="; ".join(
            text
            for text in (
                f"one of: {', '.join(data['choices'])}" if data["choices"] else "",
                _when_fixed(data),
            )
            if text
        ),
    )
    if data["bounds"]:
        low, high = data["bounds"]
        if isinstance(field.default, int):
            descriptor.integer_range = [IntegerRange(from_value=int(low), to_value=int(high))]
        else:
            descriptor.floating_point_range = [FloatingPointRange(from_value=low, to_value=high)]
    return descriptor
