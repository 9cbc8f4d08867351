# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Motions that begin, end and are forbidden, in a live node."""

from types import SimpleNamespace

import numpy as np
import pytest
from std_srvs.srv import SetBool

from live_node import LiveNode, live_node
from multibody_dynamics.dynamics.control import DesiredMotion, TrajectoryRequest
from multibody_dynamics.dynamics.model import JointLimits
from multibody_dynamics.nodes.base.diagnostics import EventCounter
from multibody_dynamics.nodes.base.messages import SECOND, MessageError
from multibody_dynamics.nodes.following.followed_motion import FollowedMotion
from multibody_dynamics.nodes.following.following_parameters import FollowingParameters
from multibody_dynamics.nodes.following.trajectory_goal import ErrorCode
from rejections import assert_rejected
from ros_harness import NAMESPACE, RosHarness, ros

__all__ = ["ros"]  # the fixture

NAMES = ("shoulder", "elbow")
LIMITS = JointLimits(np.full(2, -2.0), np.full(2, 2.0), np.full(2, 50.0), np.full(2, np.inf))
START = 1_700_000_000 * SECOND
Q0 = np.array([0.1, -0.2])
GOAL = Q0 + 0.05


class Fault:
    """An obstacle that cannot be cleared while there is a `refusal_text`."""

    def __init__(self) -> None:
        self.text, self.refusal_text = "stuck: a door is open", "close the door first"

    def present(self) -> str:
        return self.text

    def refusal(self) -> str:
        return self.refusal_text

    def clear(self) -> None:
        self.text = ""


class Ends:
    """An action that only notes how goals end."""

    def __init__(self) -> None:
        self.verdicts: list[tuple[ErrorCode, str]] = []

    def end(self, verdict) -> None:
        self.verdicts.append(tuple(verdict))

    def report(self, stamp, desired, position, velocity) -> None: ...


@pytest.fixture
def bench(ros: RosHarness):
    def create(node: LiveNode) -> None:
        motion = DesiredMotion(NAMES, LIMITS)
        node.fault, node.ends, node.events = Fault(), Ends(), EventCounter()
        node.position = Q0.copy()
        node.followed = FollowedMotion(
            node, motion, lambda: node.position, node.events,
            action=node.ends, inhibitor=node.fault,
        )  # fmt: skip
        node.followed.hold(Q0, START)
        node.fault.text = ""

    parameters = {"path_tolerance": 0.5, "stop_duration": 0.2, "goal_tolerance": 0.01}
    with live_node(ros, create, FollowingParameters, **parameters) as node:
        yield node


def request(goal=GOAL, duration=1.0) -> TrajectoryRequest:
    return TrajectoryRequest(None, np.array([duration]), np.array([goal]), None, None)


def enable(ros: RosHarness, node: LiveNode, data: bool) -> SetBool.Response:
    client = ros.peer.create_client(SetBool, f"{NAMESPACE}/live/enable")
    ros.until(client.service_is_ready, "the service")
    answer = client.call_async(SetBool.Request(data=data))
    ros.until(answer.done, "the answer", each=node.turn)
    ros.peer.destroy_client(client)
    return answer.result()


def at(node: LiveNode, seconds: float) -> np.ndarray:
    """The desired motion, judged against the position of the node."""
    time, out = START + round(SECOND * seconds), np.empty((5, 2))
    node.followed.motion.evaluate(time, out)
    node.followed.judge(time, out, np.zeros(2))
    return out


def test_a_motion_is_judged_until_it_has_arrived(bench):
    bench.followed.follow(request())
    bench.ends.verdicts.clear()
    for t in np.linspace(0.0, 0.9, 6):
        bench.position[:] = at(bench, t)[0]
        assert bench.ends.verdicts == []
    at(bench, 1.1)
    assert bench.ends.verdicts == [(ErrorCode.SUCCESSFUL, "goal reached")]
    at(bench, 1.2)
    assert len(bench.ends.verdicts) == 1


def test_a_motion_that_the_robot_does_not_follow_is_stopped(bench):
    bench.followed.follow(request(Q0 + 1.5))
    bench.ends.verdicts.clear()
    for t in np.linspace(0.0, 0.9, 50):
        at(bench, t)
        if bench.ends.verdicts:
            break
    ((code, _),) = bench.ends.verdicts
    assert code == ErrorCode.PATH_TOLERANCE_VIOLATED
    assert bench.events.totals == {"path tolerance": 1}
    rest = at(bench, t + 0.3)
    np.testing.assert_array_equal(rest[1:], 0.0)
    assert (rest[0] < Q0 + 1.5).all()


def test_a_new_motion_ends_the_goal_of_the_one_before(bench):
    bench.followed.follow(request())
    bench.ends.verdicts.clear()
    bench.followed.stop()
    assert bench.ends.verdicts == [(ErrorCode.INVALID_GOAL, "replaced by another motion")]
    bench.followed.release("a test")
    assert bench.ends.verdicts[-1] == (ErrorCode.INVALID_GOAL, "a test")
    assert not bench.followed.motion.is_active


def test_a_rejected_motion_leaves_the_present_one_and_its_goal(bench):
    bench.followed.follow(request())
    bench.ends.verdicts.clear()
    assert_rejected((lambda: bench.followed.follow(request(Q0 + 5.0)), "limit"), error=MessageError)
    assert bench.ends.verdicts == []
    np.testing.assert_allclose(at(bench, 1.0)[0], GOAL)


def test_the_status_has_events_and_the_largest_error(bench):
    at(bench, 0.0)
    bench.position += [0.01, -0.02]
    bench.events.add("a test")
    status = bench.followed.status("holding", {"more": 1})
    assert (status.part, status.text) == ("reference", "holding")
    values = status.values
    assert round(values.pop("largest tracking error"), 12) == 0.02
    assert values.pop("joint with the largest error") == "elbow"
    assert list(values) == ["a test", "last", "topics of streams", "enabled", "more"]


def test_a_joint_outside_its_limits_is_warned_of(bench, monkeypatch):
    warned: list[str] = []
    monkeypatch.setattr(bench, "get_logger", lambda: SimpleNamespace(warning=warned.append))
    bench.followed.hold(np.array([2.5, 0.0]), START)
    assert warned == [
        "'shoulder' is at 2.5, outside its position limits: it may only move back inside"
    ]


def test_the_service_stops_motions_and_forbids_new_ones(ros, bench):
    bench.followed.follow(request())
    at(bench, 0.5)
    answer = enable(ros, bench, False)
    assert (answer.success, answer.message) == (True, "stopping, then holding")
    assert bench.ends.verdicts[-1][1] == "motion is disabled by the service ~/enable"
    np.testing.assert_array_equal(at(bench, 0.8)[1:], 0.0)
    with pytest.raises(MessageError, match="disabled by the service") as caught:
        bench.followed.follow(request())
    assert caught.value.reason == "not enabled"
    assert enable(ros, bench, True).message == "following trajectories"
    bench.position[:] = at(bench, 0.9)[0]
    bench.followed.follow(request())


def test_an_obstacle_forbids_motions_until_the_service_clears_it(ros, bench):
    bench.fault.text = "stuck: a door is open"
    with pytest.raises(MessageError, match="stuck: a door is open; call ~/enable") as caught:
        bench.followed.follow(request())
    assert caught.value.reason == "fault"
    answer = enable(ros, bench, True)
    assert (answer.success, answer.message) == (False, "close the door first")
    assert bench.fault.text
    bench.fault.refusal_text = ""
    assert enable(ros, bench, True).success
    assert not bench.fault.text
    bench.followed.follow(request())
