# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""A vendor's 1 kHz interface in Python: the generated controller in C computes every torque.

    python examples/18_vendor_interface.py

Many vendors offer a loop of this kind: read the state of the arm, compute, write torques, within a
millisecond. `multibody_dynamics generate` writes a controller in C, with its law, reference, limits
and watchdogs, and `CompiledController` calls it in this process (a C compiler is needed). Python
only plans: it sends each goal ahead of time. Finally, the encoders of the links fail during a
motion; the controller notices it and stops the arm by means of its motors.

For the real arm, replace `VendorArm` by the vendor's class. The interpreter may still be late:
where that must not happen, call the same C from the vendor's C or C++ interface, or in
ros2_control.
"""

import argparse
from contextlib import redirect_stdout
from io import StringIO
from tempfile import TemporaryDirectory
from typing import NamedTuple

import numpy as np

from multibody_dynamics import dynamics as dyn
from multibody_dynamics.resources import share_directory
from multibody_dynamics.simulation.compiled_controller import CompiledController
from multibody_dynamics.tools import cli

ROBOT = share_directory() / "config" / "robots" / "planar_two_link.urdf"
SPRINGS = share_directory() / "config" / "elastic_joints" / "planar_two_link.yaml"
PERIOD = 1e-3  # s
START, GOAL = np.array([0.0, 0.0]), np.array([0.5, -0.5])  # rad
ACTIVATED, SENT, FAILED = 0.05, 0.5, 2.4  # s
END = 4.5  # s


class State(NamedTuple):
    """What the vendor reports: s, rad, rad."""

    time: float
    q: np.ndarray
    theta: np.ndarray


class VendorArm:
    """In place of the vendor's class: a simulated arm whose brakes are open from the first torque.

    The encoders of its links fail at FAILED.
    """

    def __init__(self) -> None:
        model = dyn.load_urdf(ROBOT)
        self._plant = dyn.plant.ElasticRobot(model, dyn.load_actuators(SPRINGS, model.joint_names))
        self._plant.reset(START)
        self._time = 0.0

    @property
    def applied_torque(self) -> np.ndarray:
        return self._plant.motor_torque.copy()

    def read_once(self) -> State:
        """The state at the beginning of a cycle."""
        q = self._plant.q if self._time < FAILED else np.full(2, np.nan)
        return State(self._time, q.copy(), self._plant.theta.copy())

    def write_once(self, torque: np.ndarray) -> None:
        """Apply motor torques, N m, until the next cycle."""
        self._plant.step(torque, PERIOD)
        self._time += PERIOD

    @property
    def speed(self) -> float:
        return float(np.abs(self._plant.qd).max())


def main(arguments: list[str] | None = None) -> None:
    argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    ).parse_args(arguments)

    arm = VendorArm()
    with TemporaryDirectory() as folder:
        joints = ["--elastic-joints", str(SPRINGS), "--law", "motor_pd"]
        with redirect_stdout(StringIO()):  # it prints the names of the files
            if cli.main(["generate", str(ROBOT), *joints, "-o", folder]):
                raise SystemExit(1)
        controller = CompiledController(folder, {"transfer_time": 0.1})
        before, torque = "", arm.applied_torque
        while (state := arm.read_once()).time < END:
            computed = controller.update(state.time, state.q, state.theta)
            if controller.state != "inactive":
                torque = computed
            cycle = round(state.time / PERIOD)
            if cycle == round(ACTIVATED / PERIOD):
                controller.activate(torque)
            elif cycle == round(SENT / PERIOD):
                controller.append(state.time + 1.0, GOAL)  # at rest there after one second
            elif cycle == round(2.0 / PERIOD):
                print(f"at the goal to {1e3 * np.abs(state.q - GOAL).max():.4f} mrad")
                controller.append(state.time + 1.0, START)
            if controller.state != before:
                why = f": {controller.fault}" if controller.fault else ""
                print(f"{state.time:.3f} s  {controller.state}{why}")
                before = controller.state
            arm.write_once(torque)
        print(f"at the end the arm moves at {arm.speed:.1e} rad/s")


if __name__ == "__main__":
    main()
