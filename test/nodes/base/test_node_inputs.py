# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Messages that a node rejects are counted, logged and reported, over the real middleware."""

from std_msgs.msg import String

from live_node import live_node
from multibody_dynamics.nodes.base.diagnostics import OK, WARN
from multibody_dynamics.nodes.base.messages import MessageError
from multibody_dynamics.nodes.base.node_inputs import Inputs
from multibody_dynamics.nodes.base.parameters import NodeParameters
from ros_harness import RELIABLE, RosHarness, ros

__all__ = ["ros"]  # the fixture


def test_rejections_are_counted_by_topic_and_reason_until_the_node_is_deactivated(ros: RosHarness):
    accepted: list[str] = []

    def accept(message: String) -> None:
        if message.data != "good":
            raise MessageError("bad word", f"'{message.data}' is not good")
        accepted.append(message.data)

    def create(node) -> None:
        node.inputs = Inputs(node)
        node.inputs.listen(String, "words", accept, RELIABLE)

    with live_node(ros, create, NodeParameters) as node:
        words = ros.publisher(String, "words")
        for word in ("good", "poor", "poorer", "good"):
            words.publish(String(data=word))
        ros.until(lambda: len(accepted) == 2, "the messages", each=node.turn)
        assert node.logged == [
            f"rejected words: '{word}' is not good" for word in ("poor", "poorer")
        ]
        status = node.inputs.status({"foreign": 3})
        assert (status.part, status.level) == ("inputs", WARN)
        assert status.text == "2 rejected in the last second"
        last = {"last rejected words": "'poorer' is not good"}
        assert status.values == {"words: bad word": 2, **last, "foreign": 3}

        node.inputs.reject("others", MessageError("late", "too late"))
        recent, totals = node.inputs.report()
        assert recent == 1
        last["last rejected others"] = "too late"
        assert totals == {"words: bad word": 2, "others: late": 1, **last}
        status = node.inputs.status({})
        assert (status.level, status.text) == (OK, "none rejected")

        node.trigger_deactivate()
        ros.until(lambda: not words.get_subscription_count(), "the end")
