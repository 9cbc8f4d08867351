# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""An arm under control of the flatness controller, whose torques a separate process judges."""

import json
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from std_srvs.srv import SetBool

import torque_monitor
from flatness_arm import NODE, STEP, Arm
from multibody_dynamics.nodes.base.messages import SECOND
from ros_harness import FIRST_START, RosHarness

RATE = 2000.0  # N m/s, for each motor
WATCHDOG = 0.05  # s
SILENCE = 20_000_000  # ns until the brakes engage
MONITOR = Path(torque_monitor.__file__)


class JudgedArm(Arm):
    """An arm under control, and the monitor that judges its torques."""

    def __init__(self, ros: RosHarness, folder: Path, **changes: Any) -> None:
        super().__init__(
            ros, torque_rate_limits=[RATE], state_timeout=WATCHDOG, recovery_limit=0, **changes
        )
        self.silent = 0  # steps without an answer
        self._verdict = folder / "verdict.json"
        limits = np.minimum(self.actuators.torque_limit, self.model.limits.effort)
        settings = {
            "torque_limits": limits.tolist(),
            "torque_rates": [RATE] * len(limits),
            "watchdog": WATCHDOG,
            "verdict": str(self._verdict),
            "controller": NODE,
        }
        self.monitor = ros.start("torque_monitor", settings, program=MONITOR)
        self.wait_for_readers(2)  # controller and monitor
        self.start()
        self.run(0.2)

    def wait_for_readers(self, count: int) -> None:
        """Until so many processes receive the states of the arm."""
        reads_links = self.settings.get("state_source") != "motor_encoders"
        self.ros.until(
            lambda: (
                self.motors.get_subscription_count() == count
                and (not reads_links or self.links.get_subscription_count() == count)
            ),
            f"{count} readers of the states",
            patience=FIRST_START,
        )

    def step(self, links: bool = True, motors: bool = True) -> bool:
        """As in the base class; without torques for 20 ms, the brakes of the drives engage."""
        answered = super().step(links, motors)
        self.silent = 0 if answered else self.silent + 1
        self.engage_brakes_if_silent()
        return answered

    def engage_brakes_if_silent(self) -> None:
        """The brakes of the drives, after some time without torques."""
        if self.silent * STEP > SILENCE:
            self.plant.reset(self.plant.q)

    def wait(self, patience: float) -> bool:
        return super().wait(min(patience, 0.1) if self.silent else patience)

    def verdict(self) -> dict[str, Any]:
        """The judgement of everything up to now; ends the monitor."""
        self.ros.spin(0.3)
        assert self.ros.leave(self.monitor) == 0, self.monitor.output
        return json.loads(self._verdict.read_text())

    def counted(self, part: str, key: str) -> int:
        return int(self.ros.diagnosis(part)[2].get(key, 0))

    def until(self, condition: Callable[[], Any], what: str) -> None:
        self.ros.until(condition, what, each=self.step)

    def until_says(self, text: str, each: Callable[[], None]) -> None:
        """Until the node has logged this."""
        self.ros.until(lambda: text in self.node.output, text, each=each)

    def until_at_rest(self, speed: float) -> None:
        """Until no link has been faster than `speed`, rad/s, for 0.3 s."""
        speeds: deque[float] = deque(maxlen=3 * SECOND // (10 * STEP))

        def step() -> None:
            self.step()
            speeds.append(np.abs(self.plant.qd).max())

        def is_at_rest() -> bool:
            return len(speeds) == speeds.maxlen and max(speeds) < speed

        self.ros.until(is_at_rest, f"links slower than {speed} rad/s", each=step)

    def recover(self) -> None:
        """Back to following, with ~/enable if the fault waits for it."""
        self.run(0.3)
        request = SetBool.Request(data=True)
        self.until(
            lambda: self.ros.call(SetBool, f"{NODE}/enable", request).success, "~/enable succeeds"
        )
        self.until_shown(lambda: self.ros.diagnosis(": cycle")[0] in (0, 1), "no fault")
