# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Losses are found from the numbers of the messages, or from their stamps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import serialize_message
from sensor_msgs.msg import JointState

from multibody_dynamics.tools.base.subscriptions import PublicationCount

MS = 1_000_000  # ns


def counted(numbers, publishers=1):
    count = PublicationCount()
    count.publishers = publishers
    for number in numbers:
        count.add(number, b"")
    return count


def stamped(*stamps, numbered=False):
    count = PublicationCount(stamped=True)
    for k, stamp in enumerate(stamps):
        message = JointState()
        message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 1_000_000_000)
        count.add(k + 1 if numbered else None, serialize_message(message))
    return count


@given(st.sets(st.integers(1, 200), min_size=1))
def test_gaps_of_one_publisher_are_counted_exactly(received):
    numbers = sorted(received)
    count = counted(numbers)
    assert count.received == len(numbers)
    assert count.lost == numbers[-1] - numbers[0] + 1 - len(numbers)


@given(st.lists(st.sampled_from((0, 1, 2)), max_size=200), st.integers(1, 3))
def test_interleaved_publishers_that_lose_nothing(order, known):
    """Also if fewer publishers are known than there are."""
    sent = [0, 0, 0]
    numbers = []
    for publisher in order:
        sent[publisher] += 1
        numbers.append(sent[publisher])
    assert counted(numbers, known).lost == 0


def test_publisher_that_was_running_before_the_recording():
    assert counted([10, 11, 12]).lost == 0
    numbers = [10, 500, 11, 501, 12, 502]
    assert counted(numbers, 2).lost == 0
    assert counted([10, 500, 501, 502], 2).lost == 489  # the second one never published
    assert counted([*numbers, 15, 504], 2).lost == 3


def test_publisher_that_was_restarted():
    assert counted([100, 101, 102, 1, 2, 3, 4]).lost == 0
    assert counted([100, 101, 102, 1, 2, 5]).lost == 2


def test_stamps_stand_in_for_missing_numbers():
    regular = [1_000_000_000 + k * MS for k in range(300)]
    assert stamped(*regular).lost == 0
    without = [stamp for k, stamp in enumerate(regular) if k not in (150, 200, 201)]
    assert stamped(*without).lost == 3
    assert stamped(*without, numbered=True).lost == 0  # the publisher itself skipped them


@pytest.mark.parametrize("length", [0, 1, 4, 11])
def test_message_that_was_cut_short_is_counted(length):
    count = PublicationCount(stamped=True)
    count.add(None, bytes(length))
    assert (count.received, count.lost, count.longest_step) == (1, 0, 0)


def test_longest_step():
    assert stamped(MS, 2 * MS, 9 * MS, 10 * MS).longest_step == 7 * MS
    assert stamped(9 * MS, 2 * MS, 3 * MS).longest_step == MS  # the clock went back
    assert stamped(0, 0, 0).longest_step == 0
