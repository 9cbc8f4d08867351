# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The reaction of an arm to contacts: the law that responds to them, and the retraction.

    stop                    damped stop, then hold
    gravity_compensation    the arm floats: an impedance without stiffness
    retract                 back along the direction of the contact, then hold softly
    impedance               the arm holds its position with little stiffness

The torque that the model does not explain is frozen at its value before the contact
(:attr:`offset`): the arm neither sinks because of errors of the model, nor pushes against the
contact.
"""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from ...core import Array, IndependentCopies
from ...model import JointLimits
from ..observers.collision_detection import CollisionDetector
from ..observers.collision_thresholds import HIT, KINDS, PUSH
from .modes import STOPPING, YIELDING

OFF, REPORT, RETRACT = "off", "report", "retract"
LAWS_OF_REACTIONS: Mapping[str, str] = {
    "stop": "hold",
    "gravity_compensation": "gravity_compensation",
    RETRACT: RETRACT,
    "impedance": "impedance",
}
REACTIONS = (OFF, REPORT, *LAWS_OF_REACTIONS)
SUDDEN = 0.5  # share of the threshold of "hit" from which a contact counts as sudden
SHORTEST = 0.25  # s, of a retraction
SPEED = 0.2  # share of the velocity limits that a retraction may use
UNLIMITED_SPEED = 2.0  # rad/s or m/s, velocity limit of joints that have none
PEAK = 315.0 / 128.0  # peak over mean speed, from rest to rest


class Contact(NamedTuple):
    """A contact at the time of its detection.

    stamp : ns. torque (n,) N m, external torques without errors of the model. text : for
    messages.
    """

    stamp: int
    torque: Array
    text: str


class CollisionReaction(IndependentCopies):
    """Notices contacts, and decides on the retraction.

    limits : positions that a retraction may not leave, and velocity limits.

    Attributes: `offset` (n,) N m, external torques to compensate while the arm reacts to a
    contact; `contacts`, how many there were; `last`, the newest one.
    """

    def __init__(self, detector: CollisionDetector, limits: JointLimits) -> None:
        self.detector, self._limits = detector, limits
        self.offset: Array = np.zeros(len(limits.lower))
        self.contacts = 0
        self.last: Contact | None = None
        self.largest = 0.0  # ratio to the threshold since the last report
        self._was_contact = False

    def answer(
        self, stamp: int, reaction: str, *, is_measured: bool, has_fault: bool
    ) -> tuple[Contact | None, int]:
        """A new contact, and the mode that answers it, 0 for none.

        stamp : ns. reaction : one of REACTIONS. is_measured : whether both sides are. has_fault :
        whether the arm is stopped already.
        """
        if reaction == OFF:
            return None, 0
        if not is_measured:
            self.detector.reset()
            return None, 0
        contact = self.notice(stamp)
        if contact is None or has_fault:
            return None, 0
        if reaction == REPORT:
            return contact, 0
        return contact, STOPPING if LAWS_OF_REACTIONS[reaction] == "hold" else YIELDING

    def notice(self, stamp: int) -> Contact | None:
        """A contact that the detector has found since the last call; stamp: ns."""
        detector = self.detector
        self.largest = max(self.largest, float(detector.share.max()))
        is_new = detector.is_contact and not self._was_contact
        self._was_contact = detector.is_contact
        if not is_new:
            return None
        kind, j = detector.worst
        # A slow push is already part of the torque measured before; only if the contact is sudden
        # is that torque due to the error of the model alone.
        is_sudden = bool(detector.share[HIT].max() >= SUDDEN)
        self.offset[:] = detector.before if is_sudden else 0.0
        unit = "N" if detector.model.joint_types[j] == "prismatic" else "N m"
        text = (
            f"{KINDS[kind]} of {detector.torque:.3g} {unit} at '{detector.joint}', beyond its "
            f"threshold of {detector.threshold[kind, j]:.3g} {unit}"
        )
        torque = detector.residual[HIT if is_sudden else PUSH].copy()
        self.contacts += 1
        self.last = Contact(stamp, torque, text)
        return self.last

    def retraction(self, contact: Contact, position: Array, distance: float) -> tuple[Array, float]:
        """Goal (n,) and duration in s of a retraction from `position`.

        The joints move along the external torques, each in proportion to its torque over its
        threshold, and the joint with the largest ratio moves by `distance`. The contact force does
        positive work along this path, so the touched point yields.
        """
        direction = contact.torque / self.detector.threshold.max(axis=0)
        direction /= np.abs(direction).max()
        lower, upper = (np.minimum(self._limits.lower, position),
                        np.maximum(self._limits.upper, position))  # fmt: skip
        goal = np.clip(position + distance * direction, lower, upper)
        velocity = self._limits.velocity
        allowed = SPEED * np.where(np.isfinite(velocity), velocity, UNLIMITED_SPEED)
        duration = float((PEAK * np.abs(goal - position) / allowed).max())
        return goal, max(duration, SHORTEST)
