# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The configurations of viewers name only topics, fields, joints and frames that exist."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import yaml

from multibody_dynamics import nodes
from multibody_dynamics.resources import share_directory
from robots import panda

FOLDER = share_directory() / "config" / "live_view"
NODES = Path(nodes.__file__).parent
TOPICS = {"/joint_states", "/robot_description", "/external_wrench", "/diagnostics"}


def is_published(topic: str) -> bool:
    """Whether the page of a node lists the topic among its outputs."""
    if topic in TOPICS:
        return True
    _, node, name = topic.split("/")
    page = (share_directory() / "docs" / f"{node}.md").read_text()
    return any(f"`~/{name}`" in line and "| out" in line for line in page.splitlines())


def test_plotjuggler():
    curves = [c.get("name") for c in ElementTree.parse(FOLDER / "plotjuggler.xml").iter("curve")]
    assert curves
    for splitter in ElementTree.parse(FOLDER / "plotjuggler.xml").iter("DockSplitter"):
        areas = splitter.findall("DockArea")
        assert int(splitter.get("count")) == len(areas) == len(splitter.get("sizes").split(";"))
    for curve in curves:
        topic, joint, field = re.fullmatch(r"(/.+)/(\w+)/(position|effort)", curve).groups()
        assert is_published(topic), topic
        assert joint in panda().joint_names, field


def test_foxglove():
    layout = json.loads((FOLDER / "foxglove.json").read_text())
    panels = layout["configById"]
    assert set(re.findall(r'"(\w+!\w+)"', json.dumps(layout["layout"]))) == set(panels)
    assert {name.split("!")[0] for name in panels} == {"3D", "Plot", "DiagnosticSummary"}
    for panel in panels.values():
        for path in panel.get("paths", []):
            topic, index = re.fullmatch(
                r"(/[\w/]+)\.(?:position|effort)\[(\d)\]", path["value"]
            ).groups()
            assert is_published(topic), topic
            assert path["label"] == panda().joint_names[int(index)]
        for topic in panel.get("topics", []):
            assert is_published(topic), topic


def test_rviz():
    manager = yaml.safe_load((FOLDER / "robot.rviz").read_text())["Visualization Manager"]
    frames = panda().frames
    assert manager["Global Options"]["Fixed Frame"] in frames
    displays = {display["Name"]: display for display in manager["Displays"]}
    kinds = {display["Class"] for display in displays.values()}
    assert kinds == {f"rviz_default_plugins/{name}" for name in ("Grid", "RobotModel", "Wrench")}
    assert set(displays["Robot"]["Links"]) <= set(frames)
    assert "/" + displays["External wrench"]["Topic"]["Value"] in TOPICS
    assert '"external_wrench"' in "".join(file.read_text() for file in NODES.glob("*.py"))
