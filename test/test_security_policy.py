# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The policy for SROS 2 allows what the nodes do and their pages list, and nothing else."""

import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from rclpy.node import NodeNameNonExistentError

from multibody_dynamics.tools.live.composition import NODES
from ros_harness import FIRST_START, NAMESPACE, RosHarness, ros

__all__ = ["ros"]  # the fixture

ROOT = Path(__file__).parents[1]
POLICY = ElementTree.parse(ROOT / "config" / "sros2" / "policy.xml")
# What every lifecycle node does, see test_the_nodes_do_nothing_else.
OF_EVERY_NODE = {
    "publish": {"/rosout", "/parameter_events", "~/transition_event"},
    "subscribe": {"/clock", "/parameter_events"},
}
STANDARD_SERVICES = re.compile(r"~/(get|set|list|describe|change)_\w+")
TWO_LINK = {
    "robot_file": "config/robots/planar_two_link.urdf",
    "elastic_joints_file": "config/elastic_joints/planar_two_link.yaml",
    "command_joints": ["shoulder", "elbow"],
    "command_interface": "stamped_motor_torque",
    "joints": ["shoulder", "elbow"],
    "tool": "tip",
    "components": "x z",
    "ready_topic": "feedforward_node/motor_command",
}


def allowed(node: str) -> dict[str, set[str]]:
    """Names by what may be done with them: publish, subscribe, reply, execute."""
    (enclave,) = POLICY.findall(f".//enclave[@path='/{node}']")
    (profile,) = enclave.findall("profiles/profile")
    assert (profile.get("ns"), profile.get("node")) == ("/", node)
    found: dict[str, set[str]] = {}
    for part in profile:
        ((verb, answer),) = part.attrib.items()
        assert answer == "ALLOW"
        found.setdefault(verb, set()).update(each.text or "" for each in part)
    return found


def policy_names(node: str) -> dict[str, set[str]]:
    """`allowed`, with the complete names of a node in the namespace of the harness."""

    def complete(name: str) -> str:
        if name[0] == "~":
            return f"{NAMESPACE}/{node}{name[1:]}"
        return name if name[0] == "/" else f"{NAMESPACE}/{name}"

    return {verb: {complete(name) for name in names} for verb, names in allowed(node).items()}


def listed(node: str) -> dict[str, set[str]]:
    """The same from the table of topics on the page of the node."""
    page = (ROOT / "docs" / f"{node}.md").read_text(encoding="utf-8")
    table = page.split("| topic | type | |\n|---|---|---|\n")[1].split("\n\n")[0]
    found: dict[str, set[str]] = {"publish": set(), "subscribe": set()}
    for row in table.splitlines():
        names, _, what = row.strip("|").split("|", 2)
        verbs = {"in": "subscribe", "out": "publish", "service": "reply", "action": "execute"}
        for word in re.findall(r"(?:^|, )(in|out|service|action)\b", what.strip()):
            found.setdefault(verbs[word], set()).update(re.findall(r"`([^`]+)`", names))
    return found


def test_there_is_an_enclave_for_every_node():
    enclaves = [each.get("path") for each in POLICY.iter("enclave")]
    assert sorted(enclaves) == [f"/{node}" for node in NODES]


@pytest.mark.parametrize("node", NODES)
def test_the_policy_allows_what_the_page_of_the_node_lists(node):
    policy, page = allowed(node), listed(node)
    services = {name for name in policy.pop("reply") if not STANDARD_SERVICES.fullmatch(name)}
    assert services == page.pop("reply", set())
    for verb, names in OF_EVERY_NODE.items():
        page[verb] |= names
    assert policy == page


@pytest.mark.ros
def test_without_keys_a_node_ends_with_one_line(ros: RosHarness, tmp_path: Path):
    """With ROS_SECURITY_STRATEGY=Enforce, nothing runs unsecured."""
    (tmp_path / "enclaves" / "trajectory_node").mkdir(parents=True)
    secured = {
        "ROS_SECURITY_ENABLE": "true",
        "ROS_SECURITY_STRATEGY": "Enforce",
        "ROS_SECURITY_KEYSTORE": str(tmp_path),
    }
    command = [sys.executable, "-m", "multibody_dynamics.nodes.trajectory_node", "--ros-args"]
    for enclave in ("/trajectory_node", "/unknown"):
        done = subprocess.run(
            [*command, "--enclave", enclave], env={**ros.environment, **secured},
            capture_output=True, text=True, timeout=100,
        )  # fmt: skip
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        lines = [line for line in done.stderr.splitlines() if "[FATAL]" in line]
        assert len(lines) == 1


@pytest.mark.ros
def test_the_nodes_do_nothing_else(ros: RosHarness, tmp_path: Path):
    """All nodes, active in one process: their publishers, subscriptions and services."""
    settings = tmp_path / "parameters.yaml"
    settings.write_text(json.dumps({"/**": {"ros__parameters": TWO_LINK}}))
    command = [sys.executable, "-m", "multibody_dynamics", "compose", *NODES, "--ros-args"]
    command += ["-r", f"__ns:={NAMESPACE}", "--params-file", str(settings)]
    process = subprocess.Popen(command, env=ros.environment, cwd=tmp_path)
    try:

        def seen(node: str) -> dict[str, set[str]]:
            ways = {"publish": "publisher", "subscribe": "subscriber", "reply": "service"}
            lists = {
                verb: getattr(ros.peer, f"get_{way}_names_and_types_by_node")(node, NAMESPACE)
                for verb, way in ways.items()
            }
            return {verb: {name for name, _ in found} for verb, found in lists.items()}

        def all_active() -> bool:
            """Whether every node has subscribed to what it reads."""
            assert process.poll() is None, "the nodes have ended"
            try:
                inputs = [seen(node)["subscribe"] - policy_names(node)["publish"] for node in NODES]
            except NodeNameNonExistentError:
                return False
            return all(any(name.startswith(NAMESPACE) for name in names) for names in inputs)

        ros.until(all_active, "all nodes to be active", patience=FIRST_START)
        for node in NODES:
            policy = policy_names(node)
            for verb, names in seen(node).items():
                assert names <= policy[verb], (node, verb)
    finally:
        process.terminate()
        process.wait(timeout=100)
