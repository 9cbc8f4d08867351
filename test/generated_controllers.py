# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Generated controllers for the tests: robots, compiled libraries, and the same cycles in C and
Python."""

import pickle
import re
import subprocess
from functools import cache
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import numpy as np
import pytest

from elastic_arms import MOTOR, SMALL, Arm, series
from multibody_dynamics.dynamics.elastic import Actuators, Rigid, load_actuators
from multibody_dynamics.dynamics.mechanisms import load_robot
from multibody_dynamics.dynamics.model import load_urdf
from multibody_dynamics.simulation.compiled_controller import CompiledController
from multibody_dynamics.tools.robot.c_package import write
from multibody_dynamics.tools.robot.controller_package import controller_package
from multibody_dynamics.tools.robot.generated_design import (
    ControllerOptions,
    design_controller,
    motors_at_rest,
    start_position,
)
from multibody_dynamics.tools.robot.sampled_arm import SampledArm
from robots import CONFIG, random_tree

needs_compiler = pytest.mark.skipif(which("cc") is None, reason="needs a C compiler")
WARNINGS = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow")
FLAGS = ("-std=c99", "-O1", "-fPIC", *WARNINGS)
PERIOD = 1e-3
LIBRARY = "libarm_controller.so"


@cache
def six_joints() -> Arm:
    model = load_urdf(CONFIG / "robots" / "six_joint_arm.urdf")
    springs = CONFIG / "elastic_joints" / "six_joint_arm.yaml"
    actuators = load_actuators(springs, model.joint_names, model.joint_types)
    return Arm(model, actuators, np.array([0.1, -0.9, 1.2, -0.3, 0.8, 0.2]))


@cache
def oblique() -> Arm:
    """Off-axis revolute, prismatic and helical joints on branches, one of them rigid."""
    model = random_tree(4, 11)
    kinds = (series(4000.0), series(5000.0, SMALL), Rigid(MOTOR), series(3000.0, SMALL))
    return Arm(model, Actuators(model.joint_names, kinds), np.array([0.2, -0.1, 0.3, 0.1]))


@cache
def with_loops(name: str | Path) -> Arm:
    """A robot of config/mechanisms, or the one of that name with another file of its springs."""
    own = CONFIG / "mechanisms" / f"{Path(name).stem}.urdf"
    file = name if isinstance(name, Path) else own.with_suffix(".yaml")
    model = load_robot(own, file)
    actuators = load_actuators(file, model.joint_names, model.joint_types)
    return Arm(model, actuators, model.home)


def five_bar() -> Arm:
    return with_loops("five_bar")


def designed(arm: Arm, *, transfer_time: float = 0.06, **options):
    chosen = ControllerOptions(position=arm.rest, transfer_time=transfer_time, **options)
    return design_controller(arm.model, arm.actuators, chosen)


_packages: dict[tuple, dict[str, str]] = {}


def generated(design, folder: Path) -> Path:
    """The files of a controller, in a folder; equal designs of a robot are generated once."""
    settings = design.options, design.law_settings, design.parameters, design.stream_limits
    key = design.model, design.actuators, pickle.dumps(settings)
    if key not in _packages:
        _packages[key] = controller_package(design, "arm")
    write(_packages[key], folder)
    return folder


_COMMENTS = re.compile(r"/\*.*?\*/", re.DOTALL)
_objects: dict[tuple, Path] = {}


@cache
def _scratch() -> TemporaryDirectory[str]:
    return TemporaryDirectory()


def object_files(folder: Path, flags=FLAGS) -> list[str]:
    """The core, compiled; files that differ from earlier ones at most in comments are not compiled
    again. Most designs of a robot differ only in its settings."""
    code = {file: _COMMENTS.sub("", file.read_text()) for file in sorted(folder.glob("arm_*.[ch]"))}
    headers = tuple(text for file, text in code.items() if file.suffix == ".h")
    found = []
    for file, text in code.items():
        if file.suffix == ".h":
            continue
        key = (file.name, text, headers, tuple(flags))
        if key not in _objects:
            output = Path(_scratch().name, f"{len(_objects)}.o")
            subprocess.run(["cc", *flags, "-c", "-o", output, file], check=True, timeout=300)
            _objects[key] = output
        found.append(str(_objects[key]))
    return found


def library(folder: Path) -> Path:
    """The shared library of a generated controller, in its folder."""
    objects = object_files(folder)
    output = folder / LIBRARY
    subprocess.run(["cc", "-shared", "-o", output, *objects, "-lm"], check=True, timeout=300)
    return output


class Twins:
    """A generated controller in C and its definition in Python, in the same cycles.

    Samples are the desired motion, or rest, plus small waves; the arm itself is not simulated.
    `error` is the largest difference of torques, relative to the largest torque so far.
    """

    def __init__(self, design, folder: Path, *, is_generated: bool = False) -> None:
        self.design = design
        self.c = CompiledController(
            folder / LIBRARY if is_generated else library(generated(design, folder))
        )
        self.python = SampledArm(design)
        self.time, self.cycles, self.error, self.largest = 0.0, 0, 0.0, 1e-9
        self.waves, self.offset = 2e-4, 0.0
        self.q = start_position(design)
        self.theta = motors_at_rest(design, self.q)
        self.states: list[str] = []
        self.faults: set[str] = set()
        n, m = design.model.n, len(design.actuators.motors)
        self.phase = np.arange(1.0, n + m + 1.0)

    @property
    def is_following(self) -> bool:
        return self.c.state in ("holding", "following", "braking")

    def activate(self, applied=None) -> None:
        self.c.activate(applied)
        assert self.python.activate(applied)

    def both(self, name, *arguments):
        return getattr(self.c, name)(*arguments), getattr(self.python, name)(*arguments)

    def append(self, time, state) -> str:
        rows = np.zeros((5, self.design.model.n))
        rows[: len(np.atleast_2d(state))] = state
        answer = self.c.append(time, rows)
        assert bool(answer) == bool(self.python.append(time, rows))
        return answer

    def run(self, cycles, *, links=True, motors=True, step=PERIOD, late=0.0, damage=None) -> None:
        """Cycles with or without new samples, with times `late` s before that of the cycle;
        damage(q, theta) changes them in place."""
        for _ in range(cycles):
            self.cycles += 1
            self.time += step
            n = self.design.model.n
            wave = self.waves * np.sin(9.0 * self.time + self.phase)
            if self.is_following:
                q = self.python.desired[0] + self.offset + wave[:n]
                theta = np.array(self.c.desired_theta) + wave[n:]
            else:
                q, theta = self.q + wave[:n], self.theta + wave[n:]
            if damage is not None:
                damage(q, theta)
            link_time = self.time - late if links else self.c._input.link_time
            motor_time = self.time - late if motors else self.c._input.motor_time
            self.c.update(self.time, q, theta, link_time=link_time, motor_time=motor_time)
            self.python.update(self.time, link_time, motor_time, q, theta)
            self.check()

    def check(self) -> None:
        assert self.c._output.state == self.python.state, (self.cycles, self.c.state)
        assert self.c._output.fault == self.python.fault, (self.cycles, self.c.fault)
        assert self.c.fault_joint == self.python.arm.supervisor.joint
        is_open = self.python.arm.supervisor.text.startswith(("loop", "singular pose of loop"))
        assert bool(self.c.open_loop) == is_open
        torque = self.c.torque
        assert np.isfinite(torque).all()
        if self.c.state != "inactive":
            mine, wanted = self.c.desired_theta, self.python.desired_theta
            # Near a singular pose, motors may be so far that it is their last digit.
            np.testing.assert_allclose(mine, wanted, rtol=1e-15, atol=1e-11, err_msg=self.c.state)
        self.largest = max(self.largest, float(np.abs(self.python.torque).max()))
        difference = float(np.abs(torque - self.python.torque).max())
        self.error = max(self.error, difference / self.largest)
        if not self.states or self.states[-1] != self.c.state:
            self.states.append(self.c.state)
        self.faults.add(self.c.fault)
