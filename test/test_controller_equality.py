# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The benchmark that compares a generated controller with Python finds what differs."""

import importlib
from pathlib import Path

import pytest

from generated_controllers import designed, library, needs_compiler, six_joints
from multibody_dynamics.simulation.compiled_controller import CompiledController

BENCHMARKS = Path(__file__).parents[1] / "benchmark"


class Precompiled(CompiledController):
    def __init__(self, folder):
        super().__init__(library(folder))


class WithAnotherTorque(Precompiled):
    def update(self, *arguments):
        super().update(*arguments)
        self.torque[0] *= 1.0 + 1e-6


class WithAnotherEstimate(Precompiled):
    def update(self, *arguments):
        super().update(*arguments)
        self.qd[0] += 1e-15


@pytest.fixture
def equality(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("controller_equality")


@needs_compiler
@pytest.mark.parametrize(
    ("controller", "equal_torques", "equal_else"),
    [
        (Precompiled, True, True),
        (WithAnotherTorque, False, True),
        (WithAnotherEstimate, True, False),
    ],
)
def test_differences_are_found(
    controller, equal_torques, equal_else, equality, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(equality, "CompiledController", controller)
    monkeypatch.setattr(equality, "designed", lambda _: designed(six_joints()))
    status = equality.main(["--seconds", "1"])
    printed = capsys.readouterr().out
    assert status == (0 if equal_torques and equal_else else 1)
    assert ("besides the torques: 0\n" in printed) == equal_else
    share = float(printed.split(" N m, ")[1].split(" of the largest")[0])
    assert (share <= equality.LIMIT) == equal_torques
    assert " 0.999 s in motion" in printed
