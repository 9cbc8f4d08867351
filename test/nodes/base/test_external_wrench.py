# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A contact wrench: its rates, the link that it acts on, and its expiry."""

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.nodes.base.external_wrench import ExternalWrench, WrenchFilter
from multibody_dynamics.nodes.base.messages import SECOND, MessageError, set_stamp
from robots import panda, random_state


def touch(frame: str, stamp: int, force: float = 1.0) -> WrenchStamped:
    message = WrenchStamped()
    message.header.frame_id = frame
    set_stamp(message.header.stamp, stamp)
    message.wrench.force.x = force
    message.wrench.torque.z = 2.0
    return message


class TestWrenchFilter:
    def test_without_time_constant_the_wrench_is_unfiltered(self):
        rows = WrenchFilter().advance(np.arange(6.0), 0.001, 0.0)
        np.testing.assert_array_equal(rows, [np.arange(6.0), np.zeros(6), np.zeros(6)])

    def test_rates_are_the_derivatives_of_the_filtered_wrench(self):
        W, T, h = np.arange(6.0) - 2.0, 0.1, 1e-4

        def after(time: float) -> np.ndarray:
            return WrenchFilter().advance(W, time, T).copy()

        before, now, later = after(0.05 - h), after(0.05), after(0.05 + h)
        np.testing.assert_allclose(now[1], (later - before)[0] / (2 * h), rtol=1e-5)
        np.testing.assert_allclose(now[2], (later - before)[1] / (2 * h), rtol=1e-5)

    def test_the_result_does_not_depend_on_the_step(self):
        W, many, one = np.ones(6), WrenchFilter(), WrenchFilter()
        for _ in range(100):
            many.advance(W, 0.001, 0.03)
        one.advance(W, 0.1, 0.03)
        np.testing.assert_allclose(many.rows, one.rows, rtol=1e-12)


class TestExternalWrench:
    def test_it_acts_on_the_link_of_its_frame_and_is_rotated_to_inertial_axes(self):
        model = panda()
        state = random_state(model, 3)[:3]
        contact = ExternalWrench(model)
        assert contact.body is None
        frame = model.body_names[4]
        contact.accept(touch(frame, SECOND))
        assert contact.body == 4
        given = np.array([[0, 0, 2.0, 1.0, 0, 0], *np.zeros((2, 6))])
        expected = dyn.wrench_to_world(model, *state, frame, given)
        np.testing.assert_allclose(contact.advance(0.001, 0.0, state), expected, atol=1e-12)

    def test_it_expires_once(self):
        contact = ExternalWrench(panda())
        contact.accept(touch(panda().body_names[2], SECOND))
        assert not contact.expire(SECOND + SECOND // 20, 0.1)
        assert contact.expire(SECOND + SECOND // 5, 0.1)
        assert not contact.expire(SECOND + SECOND // 5, 0.1)
        assert not contact.advance(0.001, 0.0, np.zeros((3, 7))).any()

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    def test_a_wrench_that_no_number_can_hold_is_beyond_every_limit(self):
        contact = ExternalWrench(panda())
        message = touch("panda_link8", SECOND, 0.0)
        force, torque = message.wrench.force, message.wrench.torque
        force.y, force.z, torque.y, torque.z = 1.7e308, -1.7e308, 1.7e308, 1.7e308  # inf - inf
        with pytest.raises(MessageError, match="would have to hold nan"):
            contact.accept(message, np.zeros(7), np.full(7, 100.0))

    def test_unusable_wrenches_are_rejected(self):
        contact = ExternalWrench(panda())
        body = panda().body_names[2]
        contact.accept(touch(body, SECOND))
        for message, reason in (
            (touch(body, SECOND), "out of order"),
            (touch("moon", 2 * SECOND), "unknown frame"),
            (touch(panda().base_name, 2 * SECOND), "unknown frame"),
            (touch(body, 2 * SECOND, np.nan), "not finite"),
        ):
            with pytest.raises(MessageError) as raised:
                contact.accept(message)
            assert raised.value.reason == reason
