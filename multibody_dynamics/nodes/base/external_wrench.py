# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A measured contact wrench: the body that it acts on, its rates, and its expiry."""

from dataclasses import dataclass
from math import exp

import numpy as np
from geometry_msgs.msg import WrenchStamped

from ...dynamics.core import Array
from ...dynamics.lie.se3 import coAd
from ...dynamics.model import MultibodyModel
from ...dynamics.rigid import jacobian, wrench_to_world
from .messages import SECOND, MessageError, nanoseconds, read_wrench
from .parameters import NodeParameters, parameter


@dataclass(frozen=True)
class WrenchParameters(NodeParameters):
    """The parameters of nodes that subscribe to external_wrench."""

    wrench_link: str = parameter(
        "", "link on which external_wrench acts; empty: the link named by its frame_id"
    )
    wrench_timeout: float = parameter(
        0.1, "a wrench older than this is taken as zero", unit="s", bounds=(0.001, 60.0), live=True
    )


class WrenchFilter:
    """First-order low-pass of a measured wrench, which also yields its rates.

    For an input that is constant between samples, W = W_in + (W_0 - W_in) exp(-t / T), with the
    exact derivatives W' = (W_in - W) / T and W'' = -W' / T. With T = 0, the wrench is passed
    through and its rates are zero.
    """

    def __init__(self) -> None:
        self.rows: Array = np.zeros((3, 6))  # W, W', W''

    def advance(self, wrench: Array, step: float, time_constant: float) -> Array:
        """`rows` after the input `wrench` (6,) has acted for `step` s; time_constant T in s."""
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
    """The wrench that the environment applies to one link, from WrenchStamped messages.

    link: the link on which it acts; '': the link in whose frame it is expressed. `body` is the
    index of that link's body, None before the first message.
    """

    def __init__(self, model: MultibodyModel, link: str = "") -> None:
        self._model, self._link = model, link
        self._wrench: Array = np.zeros(6)
        self.restart()

    def restart(self) -> None:
        """Forget everything, because time jumped."""
        self.drop()
        self.body: int | None = None
        self._frame, self._stamp = "", 0

    def drop(self) -> None:
        """Set the wrench to zero until the next message."""
        self._wrench[:] = 0.0
        self._filter = WrenchFilter()

    def accept(
        self, message: WrenchStamped, q: Array | None = None, limit: Array | None = None
    ) -> None:
        """Accept a message whose stamp has been checked. Raises MessageError, also if it needs
        more than the joint torques `limit` (n,) with the joints at q (n,)."""
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
                "unknown frame",
                f"'{link}' does not move; set wrench_link to the link on which the wrench acts",
            )
        if q is not None and limit is not None:
            self._refuse_beyond(limit, q, frame, link, wrench)
        if frame != self._frame:  # the filter's state is expressed in the old frame
            self._filter = WrenchFilter()
        self._wrench[:], self._frame, self._stamp = wrench, frame, stamp
        self.body = self._model.body_index(link)

    def _refuse_beyond(self, limit: Array, q: Array, frame: str, link: str, wrench: Array) -> None:
        model = self._model
        if not np.isfinite(q).all():
            raise MessageError("no state", "no joint states yet to tell whether the joints hold it")
        rows = np.array([wrench, *np.zeros((2, 6))])
        body, pose = model.frames[frame]
        still = np.zeros(model.n)
        world = (
            rows @ coAd(pose).T
            if body < 0
            else wrench_to_world(model, q, still, still, frame, rows)
        )
        J = jacobian(model, q, link, representation="spatial")
        torque = np.abs(J.T @ world[0])
        beyond = ~(torque <= limit) & (limit < np.inf)  # also if their sum is not a number
        if beyond.any():
            k = int(np.argmax(np.where(beyond, torque / limit, 0.0)))
            raise MessageError(
                "too large",
                f"'{model.joint_names[k]}' would have to hold {torque[k]:.4g} (N m or N) against"
                f" it; its limit is {limit[k]:.4g}. Are force and torque in N and N m?",
            )

    def expire(self, stamp: int, timeout: float) -> bool:
        """Zero a wrench that is older than `timeout` s at `stamp` (ns); True if it was nonzero."""
        expired = abs(stamp - self._stamp) > int(SECOND * timeout) and bool(self._wrench.any())
        if expired:
            self._wrench[:] = 0.0
        return expired

    def advance(self, step: float, time_constant: float, state: Array) -> Array:
        """(3, 6) W, W', W'' in the frame of the base after `step` s; `state`: rows q, q', q''."""
        rows = self._filter.advance(self._wrench, step, time_constant)
        body, pose = self._model.frames[self._frame]
        if body < 0:  # expressed in a fixed frame
            return np.asarray(rows @ coAd(pose).T)
        return wrench_to_world(self._model, *state[:3], self._frame, rows)
