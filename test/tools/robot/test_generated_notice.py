# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Generated code begins with the notice of the package, and has it once."""

from pathlib import Path

import pytest

from elastic_arms import antagonistic_arm
from generated_controllers import designed
from multibody_dynamics.tools.robot.c_package import c_package
from multibody_dynamics.tools.robot.controller_package import controller_package
from multibody_dynamics.tools.robot.generated_notice import NOTICE, with_notice

CODE = (".c", ".h", ".cpp", ".hpp", ".py", ".cmake", ".txt")


@pytest.fixture(scope="module", params=["dynamics", "controller"])
def files(request):
    design = designed(antagonistic_arm())
    return c_package(design.model) if request.param == "dynamics" else controller_package(design)


def test_every_generated_file_of_code_begins_with_one_notice(files):
    code = {path: text for path, text in files.items() if Path(path).suffix in CODE}
    assert {Path(path).suffix for path in code} >= {".c", ".h", ".txt"}
    for path, text in code.items():
        first = [line.lstrip("#/* ") for line in text.splitlines()[:3]]
        assert [line for line in first if line] == list(NOTICE), path
        assert all(text.count(line) == 1 for line in NOTICE), path


def test_data_is_left_alone():
    files = {"parameters.yaml": "a: 1\n", "plugin.xml": "<library/>\n"}
    assert with_notice(files) == files
