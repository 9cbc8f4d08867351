# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Sections of parameter files that are meant for a node and do not reach it."""

from pathlib import Path

import pytest

from multibody_dynamics.dynamics.core import InputError
from multibody_dynamics.nodes.base.parameter_files import missed_sections, parameter_files

VALUES = "{ros__parameters: {gain: 1.0}}"


def test_parameter_files_are_found_among_the_arguments():
    words = ["node", "--ros-args", "--params-file", "a.yaml", "-p", "b:=1", "--params-file", "c"]
    assert parameter_files(words) == [Path("a.yaml"), Path("c")]
    assert parameter_files(["node", "--params-file"]) == []


@pytest.mark.parametrize(
    ("text", "missed"),
    [
        (f"arm: {VALUES}", ["/arm"]),
        (f"/right/arm: {VALUES}", ["/right/arm"]),
        (f"right: {{arm: {VALUES}}}", ["/right/arm"]),
        (f"/*/*/arm: {VALUES}", ["/*/*/arm"]),
        (f"/left/arm: {VALUES}", []),
        (f"left: {{arm: {VALUES}}}", []),
        (f"/**: {VALUES}", []),
        (f"/**/arm: {VALUES}", []),
        (f"/*/arm: {VALUES}", []),
        (f"/left/**/arm: {VALUES}", []),
        (f"/left/arm: {VALUES}\n/right/arm: {VALUES}", []),  # one file for two robots
        (f"hand: {VALUES}\n/**/farm: {VALUES}", []),  # other nodes
        ("arm: 3", []),
        ("- 1", []),
        ("", []),
    ],
)
def test_sections_with_the_name_of_the_node_in_other_namespaces(tmp_path, text, missed):
    file = tmp_path / "parameters.yaml"
    file.write_text(text)
    assert missed_sections(file, "/left/arm") == missed


def test_a_section_without_namespace_is_for_a_node_without_namespace(tmp_path):
    file = tmp_path / "parameters.yaml"
    file.write_text(f"arm: {VALUES}")
    assert missed_sections(file, "/arm") == []


def test_a_file_that_is_not_valid_or_gives_a_key_twice_is_refused(tmp_path):
    file = tmp_path / "parameters.yaml"
    for text, says in (
        ("a: [", "not valid YAML"),
        ("/**: {ros__parameters: {gain: 1.0, gain: 2.0}}", "'gain' is given twice"),
    ):
        file.write_text(text)
        with pytest.raises(InputError, match=f"parameters.yaml: .*{says}"):
            missed_sections(file, "/arm")
    with pytest.raises(InputError, match=r"none\.yaml"):
        missed_sections(tmp_path / "none.yaml", "/arm")
