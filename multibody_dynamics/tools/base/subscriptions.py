# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Takes messages from their queues, and counts those that were published but not received.

:func:`take_all` needs no executor. This costs 7 us per message instead of 85 with a
SingleThreadedExecutor, which leaves the processor to other nodes; and it provides the publisher's
own time and count of every message, which rclpy's EventsExecutor (Jazzy) does not.

Fast DDS numbers the messages of every publisher, so a gap in the numbers is a loss, whatever its
cause: a full queue on either side, or the network. A subscriber does not learn which publisher has
sent a message; the numbers of several publishers are distinguished by their order. Where the
middleware does not number messages, steps between header stamps are compared with the usual step.
"""

import struct
from collections import deque
from collections.abc import Iterator
from statistics import median
from typing import Any

from rclpy.qos import QoSProfile, ReliabilityPolicy

QUEUE = QoSProfile(depth=5000, reliability=ReliabilityPolicy.RELIABLE)  # 5 s of a 1 kHz topic
STAMP_AT = 4  # bytes of the CDR header, before the stamp of a message that begins with a Header
MISSED = 1.5  # in usual steps: longer steps between two stamps count as missing messages
USUAL = 101  # steps of which the median is the usual one


def take_all(subscription: Any) -> Iterator[tuple[Any, dict[str, int]]]:
    """Take all messages from the queue of a subscription, each with what the middleware knows."""
    take = subscription.handle.take_message
    with subscription.handle:
        while (taken := take(subscription.msg_type, subscription.raw)) is not None:
            yield taken


class PublicationCount:
    """The messages of one topic.

    stamped : whether the messages begin with a std_msgs/Header.

    Attributes: `received`; `publishers`, how many exist, to be kept up to date by the owner;
    `longest_step` between two successive header stamps, ns.
    """

    def __init__(self, *, stamped: bool = False) -> None:
        self.received = 0
        self.publishers = 1
        self.longest_step = 0
        self._stamped = stamped
        self._last: list[int] = []  # number of the last message of every publisher
        self._lost = 0
        self._unclear: list[tuple[int, int, int]] = []  # publisher, its number then, gap
        self._stamp = 0
        self._steps: deque[int] = deque(maxlen=USUAL)

    @property
    def lost(self) -> int:
        """Messages that are missing so far."""
        gaps = sum(gap for k, number, gap in self._unclear if self._last[k] == number)
        return self._lost + gaps

    def add(self, number: int | None, message: bytes) -> None:
        """Count a serialised message with the number that its publisher gave it, or None."""
        self.received += 1
        if number is not None:
            self._continue(number)
        if self._stamped:
            self._add_stamp(message, is_numbered=number is not None)

    def _continue(self, number: int) -> None:
        last = self._last
        for k, previous in enumerate(last):
            if number == previous + 1:
                last[k] = number
                return
        earlier = [k for k, previous in enumerate(last) if previous < number]
        if not earlier:  # the first message of a publisher, or of one that was restarted
            last.append(number)
            return
        k = max(earlier, key=last.__getitem__)
        gap = number - last[k] - 1
        if len(last) < self.publishers:
            # Another publisher, if publisher k continues where it stopped; until then, a gap.
            self._unclear.append((k, last[k], gap))
            last.append(number)
        else:
            self._lost += gap
            last[k] = number

    def _add_stamp(self, message: bytes, *, is_numbered: bool) -> None:
        if len(message) < STAMP_AT + 8:  # cut short: counted, but without a stamp
            return
        is_little_endian = message[1] & 1
        seconds, rest = struct.unpack_from("<iI" if is_little_endian else ">iI", message, STAMP_AT)
        stamp = 1_000_000_000 * seconds + rest
        step, self._stamp = stamp - self._stamp, stamp
        if step <= 0 or step == stamp:  # no stamp, the first one, or a clock that went back
            return
        self.longest_step = max(self.longest_step, step)
        if is_numbered:
            return
        if len(self._steps) == USUAL:
            usual = median(self._steps)
            if step > MISSED * usual:
                self._lost += round(step / usual) - 1
                return
        self._steps.append(step)
