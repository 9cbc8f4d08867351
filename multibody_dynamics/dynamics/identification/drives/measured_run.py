# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""One recording for the joint identification: evenly timed samples of whatever was measured."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import Array, InputError, as_array, as_real

SIGNALS = ("q", "qd", "theta", "sensor", "motor_torque", "current", "stiffness")
OF_MOTORS = ("theta", "motor_torque", "current")


@dataclass(frozen=True)
class CarriedPayload:
    """A load that is fixed to a body during a run; runs with the same name carry the same load.

    mass : kg, if it was weighed; None: unknown. Centre of mass and inertia are identified.
    body : name of the body; "": the last one.
    """

    name: str
    mass: float | None = None
    body: str = ""

    def __post_init__(self) -> None:
        if self.mass is not None and not 0.0 < self.mass < np.inf:
            raise InputError(f"payload '{self.name}': mass {self.mass}: must be positive, in kg")


@dataclass(frozen=True, eq=False)
class MeasuredRun:
    """Samples at `rate` Hz, (k, n) of n joints or (k, m) of m motors, on the link side of the gear;
    None for a signal that was not measured at all, NaN in the columns of joints for which it was
    not. There are as many motors as joints, unless a joint has two.

    q, qd : position and velocity of the links, rad, rad/s. theta : positions of the motors of
        elastic joints, rad. sensor : Q of torque sensors, N m. motor_torque : N m, current : A, of
        the motors, as commanded or as measured. stiffness : N m/rad, of joints whose stiffness is
        an input that no motor sets.
    payload : carried during the run. starts : samples at which a stretch without gaps begins.
    start : s, on a clock that is common to all runs; used only to detect slow changes.
    """

    name: str
    rate: float
    q: Array | None = None
    qd: Array | None = None
    theta: Array | None = None
    sensor: Array | None = None
    motor_torque: Array | None = None
    current: Array | None = None
    stiffness: Array | None = None
    payload: CarriedPayload | None = None
    starts: tuple[int, ...] = (0,)
    start: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 < self.rate < np.inf:
            raise InputError(f"run '{self.name}': rate {self.rate}: must be positive, in Hz")
        shapes: tuple[set[tuple[int, ...]], ...] = (set(), set())
        for each in fields(self):
            if each.name in SIGNALS and (given := getattr(self, each.name)) is not None:
                rows = as_real_or_nan(f"run '{self.name}': {each.name}", given)
                shapes[each.name in OF_MOTORS].add(rows.shape)
                object.__setattr__(self, each.name, rows)
        every = shapes[0] | shapes[1]
        alike = all(len(found) <= 1 for found in shapes) and len({x[:1] for x in every}) == 1
        if not alike or any(len(shape) != 2 for shape in every):
            raise InputError(
                f"run '{self.name}': expected signals (k, n) of the joints and (k, m) of the "
                f"motors, got {sorted(every)}"
            )
        if self.q is None and self.theta is None:
            raise InputError(f"run '{self.name}': neither q nor theta was measured")
        if self.starts[0] != 0 or list(self.starts) != sorted(set(self.starts)):
            raise InputError(f"run '{self.name}': starts: must ascend from 0, got {self.starts}")

    @property
    def position(self) -> Array:
        """The positions (k, n) of the links, or of the motors if only those were measured."""
        given = self.q if self.q is not None else self.theta
        assert given is not None
        return given

    @property
    def stretches(self) -> list[slice]:
        """Parts without gaps."""
        ends = [*self.starts[1:], len(self.position)]
        return [slice(begin, end) for begin, end in zip(self.starts, ends, strict=True)]

    def part(self, begin: int, end: int) -> MeasuredRun:
        """The samples from begin to end."""
        rows: dict[str, Any] = {
            name: None if getattr(self, name) is None else getattr(self, name)[begin:end]
            for name in SIGNALS
        }
        starts = (0, *(x - begin for x in self.starts if begin < x < end))
        return replace(self, **rows, starts=starts, start=self.start + begin / self.rate)

    def has(self, signal: str, count: int | None = None) -> NDArray[np.bool_]:
        """Mask (count,) of the joints, or motors, for which the signal was measured.

        count : of the robot; as many as were recorded by default. Raises InputError if the signal
        has another number of columns.
        """
        rows = getattr(self, signal)
        if rows is None:
            return np.zeros(self.position.shape[1] if count is None else count, dtype=bool)
        if count is not None and rows.shape[1] != count:
            what = "motors" if signal in OF_MOTORS else "joints"
            raise InputError(
                f"run '{self.name}' has {rows.shape[1]} {what}, the robot {count}: {signal} must "
                "have one column for each of them"
            )
        return np.asarray(~np.isnan(rows).any(axis=0))


def as_real_or_nan(name: str, value: Any) -> Array:
    """A real array in which whole columns may be NaN."""
    rows = as_real(name, value)
    if rows.ndim == 2:
        given = ~np.isnan(rows).all(axis=0)
        as_array(name, rows[:, given], ())
    return rows
