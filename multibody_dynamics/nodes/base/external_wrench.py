"""A measured contact wrench: which body it acts on, with what rates, whether it still counts."""

from __future__ import annotations

from math import exp

import numpy as np
from geometry_msgs.msg import WrenchStamped

from ...dynamics.core import Array
from ...dynamics.lie.se3 import coAd
from ...dynamics.model import MultibodyModel
from ...dynamics.rigid import wrench_to_world
from .messages import SECOND, MessageError, nanoseconds, read_wrench


class WrenchFilter:
    """A measured wrench with the rates that a first-order low-pass gives it.

    For an input that is constant between samples, W = W_in + (W_0 - W_in) exp(-t / T), whose
    derivatives are exact: W' = (W_in - W) / T, W'' = -W' / T. With T = 0 the wrench is taken as it
    is and its rates as zero.
    """

    def __init__(self) -> None:
        self.rows: Array = np.zeros((3, 6))  # W, W', W''

    def advance(self, wrench: Array, step: float, time_constant: float) -> Array:
        """`rows` after `step` seconds of the input `wrench` (6,); time_constant T in s."""
        value, rate, second = self.rows
        if time_constant == 0.0:
            value[:] = wrench
            rate[:] = second[:] = 0.0
        else:
            value[:] = wrench + (value - wrench) * exp(-step / time_constant)
            rate[:] = (wrench - value) / time_constant
            second[:] = -rate / time_constant
        return self.rows


class ExternalWrench:
    """What the world applies to one link, as WrenchStamped messages tell it.

    link: that it acts on; '': the one whose frame it is given in. `body` is that link's, None as
    long as nothing has come.
    """

    def __init__(self, model: MultibodyModel, link: str = "") -> None:
        self._model, self._link = model, link
        self._wrench: Array = np.zeros(6)
        self.restart()

    def restart(self) -> None:
        """Forget all: time jumped."""
        self.drop()
        self.body: int | None = None
        self._frame, self._stamp = "", 0

    def drop(self) -> None:
        """Take it as zero until the next message."""
        self._wrench[:] = 0.0
        self._filter = WrenchFilter()

    def accept(self, message: WrenchStamped) -> None:
        """Take in one message whose stamp was found right. Raises MessageError."""
        frame, stamp = message.header.frame_id, nanoseconds(message.header.stamp)
        frames = self._model.frames
        link = self._link or frame
        wrench = read_wrench(message)
        if stamp <= self._stamp:
            raise MessageError("out of order", "the stamp is not newer than the last one")
        if frame not in frames:
            raise MessageError("unknown frame", f"the robot has no link '{frame}'")
        if link not in frames or frames[link].body < 0:
            raise MessageError(
                "unknown frame", f"'{link}' does not move; set wrench_link to what it acts on"
            )
        if frame != self._frame:  # the filter's state is in the axes of the old one
            self._filter = WrenchFilter()
        self._wrench[:], self._frame, self._stamp = wrench, frame, stamp
        self.body = self._model.body_index(link)

    def expire(self, stamp: int, timeout: float) -> bool:
        """Whether it is older than `timeout` s at `stamp` (ns) and was not zero; it is then."""
        expired = abs(stamp - self._stamp) > int(SECOND * timeout) and bool(self._wrench.any())
        if expired:
            self._wrench[:] = 0.0
        return expired

    def advance(self, step: float, time_constant: float, state: Array) -> Array:
        """(3, 6) W, W', W'' in inertial axes after `step` s; `state` has the rows q, q', q''."""
        rows = self._filter.advance(self._wrench, step, time_constant)
        body, pose = self._model.frames[self._frame]
        if body < 0:  # given in a frame that does not move
            return np.asarray(rows @ coAd(pose).T)
        return wrench_to_world(self._model, *state[:3], self._frame, rows)
