# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Types of command-line arguments: what they accept, and what they say otherwise."""

import argparse

import pytest

from multibody_dynamics.tools import cli
from multibody_dynamics.tools.base.arguments import namespace, topic


@pytest.mark.parametrize("text", ["", "/", "left", "/left", "/left/arm_2/", "_a"])
def test_namespaces_lose_the_slashes_around_them(text):
    assert namespace(text) == text.strip("/")


@pytest.mark.parametrize("text", ["left arm", "a//b", "2nd", "a/2", "a-b", "ä", "a\n", "~"])
def test_what_is_not_a_namespace_is_refused(text):
    with pytest.raises(argparse.ArgumentTypeError, match="is not a namespace"):
        namespace(text)


def test_topics_are_absolute_or_relative(capsys):
    assert [topic(text) for text in ("/left/a", "a/b_2")] == ["/left/a", "a/b_2"]
    for text in ("", "/", "bad topic", "a/", "//a", "3a"):
        with pytest.raises(argparse.ArgumentTypeError, match="is not a topic"):
            topic(text)
    with pytest.raises(SystemExit):
        cli.main(["monitor", "--torques", "bad topic"])
    assert "argument --torques: 'bad topic' is not a topic" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["loop", "monitor", "record"])
def test_commands_refuse_a_namespace_before_they_start_anything(command, capsys):
    with pytest.raises(SystemExit) as left:
        cli.main([command, "--namespace", "left arm"])
    assert left.value.code == 2
    assert "argument --namespace: 'left arm' is not a namespace" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["nan 0 0", "0 1e999 0", "0 0 0 --rpy 0 inf 0"])
def test_a_pose_has_finite_numbers(words, capsys):
    with pytest.raises(SystemExit) as left:
        cli.main(["send-pose", *words.split(), "--frame", "tip"])
    assert left.value.code == 2
    (number,) = set(words.split()) & {"nan", "1e999", "inf"}
    assert f"{number} is not a finite number" in capsys.readouterr().err
