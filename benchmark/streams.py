# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Streams of targets against "C2 upsampling, then a motor PD", on a Panda with springs.

    python benchmark/streams.py [--plant internal|mujoco] [--seconds 20]
    python benchmark/streams.py --minutes 60    random chunks: stops and torque rates

joint_trajectory_controller upsamples chunks of positions to a cubic spline that is C2
(ros2_controllers#2491): here from the current position and velocity through the points to come, at
rest at the last one. Its users close a PD at the motors around it. Two ways of doing so are
compared, both with the gains of `motor_pd`: with the torques that the links' gravity needs, and,
better than any user can today, with the complete flat map of this package, to which the spline
gives no q''' and q''''. The error is that of the links against what each method made of the same
targets; "limited" is the share of cycles in which the rate of a motor torque had to be cut.
"""

import argparse
import sys
from typing import Any

import numpy as np
from scipy.interpolate import CubicSpline

from multibody_dynamics.dynamics import load_actuators, load_urdf
from multibody_dynamics.dynamics.control import DesiredMotion, TrajectoryRequest
from multibody_dynamics.reporting.tables import text_table
from multibody_dynamics.resources import share_directory
from multibody_dynamics.tools.streams.replay import PLANTS, Replay, replay
from multibody_dynamics.tools.streams.stream_files import policy_stream

START = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.5])
RATES = (10.0, 20.0, 50.0)  # Hz


class UpsampledMotion(DesiredMotion):
    """Chunks of positions as a cubic spline from the current position and velocity; of q'' only the
    feedforward with `has_acceleration` knows."""

    def __init__(self, *arguments: Any, has_acceleration: bool) -> None:
        super().__init__(*arguments)
        self._spline: CubicSpline | None = None
        self._has_acceleration = has_acceleration
        self._zero = 0

    def stream(self, request: TrajectoryRequest, *arguments: Any, **options: Any) -> None:
        assert request.positions is not None
        start = self.time if request.start is None else request.start
        self._zero = self._zero or self.time
        now = 1e-9 * (self.time - self._zero)
        times = request.times + 1e-9 * (start - self._zero)
        later = times > now + 0.01
        if not later.any():
            return
        q, qd = self._rows(now)[:2]
        knots, points = np.r_[now, times[later]], np.vstack([q, request.positions[later]])
        self._spline = CubicSpline(knots, points, bc_type=((1, qd), (1, np.zeros_like(q))))

    def _rows(self, t: float) -> Any:
        spline, rows = self._spline, np.zeros((5, len(self.joint_names)))
        if spline is None:
            rows[0] = self.desired[0]
            return rows
        t = max(t, spline.x[0])
        rows[0] = spline(min(t, spline.x[-1]))
        if t < spline.x[-1]:
            rows[1] = spline(t, 1)
            if self._has_acceleration:
                rows[2] = spline(t, 2)
        return rows

    def evaluate(self, time: int, out: Any) -> None:
        super().evaluate(time, out)
        if self._spline is not None:
            self.desired[:] = out[:] = self._rows(1e-9 * (time - self._zero))

    def look_ahead(self, time: int, out: Any) -> None:
        super().look_ahead(time, out)
        if self._spline is not None:
            out[:] = self._rows(1e-9 * (time - self._zero))


def limited(run: Replay) -> float:
    """The share of cycles in which a motor torque changed as fast as it may."""
    steps = np.abs(np.diff(run.torque, axis=0)) / (1e-3 * run.motors.torque_rate)
    return float((steps > 1.0 - 1e-6).any(axis=1).mean())


def endure(model: Any, springs: Any, plant: str, minutes: int) -> list[Any]:
    """Random chunks, minute by minute, each with other waves, jitter, losses and anchors; Ctrl-C
    ends with the minutes so far."""
    runs: dict[float, list[Replay]] = {rate: [] for rate in RATES}
    try:
        for k in range(minutes):
            rate = RATES[k % len(RATES)]
            stream = policy_stream(
                model.joint_names, START, rate=rate, duration=60.0, jitter=0.5, seed=k + 1
            )
            runs[rate].append(replay(model, springs, stream, plant=plant))
            print(f"{k + 1} minutes, {stops(runs[rate])} stops at {rate:g} Hz", file=sys.stderr)
    except KeyboardInterrupt:
        pass
    return [
        (
            f"{rate:g}", len(done), stops(done), sum(len(run.refused) for run in done),
            1e3 * np.sqrt(np.mean([run.error_rms**2 for run in done])),
            max(1e3 * np.abs(run.desired[:, 0] - run.q).max() for run in done),
            max(100.0 * (run.torque_rate / run.motors.torque_rate).max() for run in done),
            max(100.0 * limited(run) for run in done),
        )
        for rate, done in runs.items() if done
    ]  # fmt: skip


def stops(runs: list[Replay]) -> int:
    return sum(len(run.stops) for run in runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plant", choices=PLANTS, default="internal")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--minutes", type=int, default=0)
    options = parser.parse_args()
    config = share_directory() / "config"
    model = load_urdf(config / "robots" / "panda.urdf")
    springs = load_actuators(config / "elastic_joints" / "panda.yaml", model.joint_names)
    if options.minutes:
        found = endure(model, springs, options.plant, options.minutes)
        heads = ("Hz", "minutes", "stops", "refused", "rms [mrad]", "peak [mrad]", "rate [%]",
                 "limited [%]")  # fmt: skip
        print("\n".join(text_table(heads, found)))
        return
    rows = []
    for rate in RATES:
        stream = policy_stream(
            model.joint_names, START, rate=rate, duration=options.seconds, jitter=0.5
        )

        def upsampled(has_acceleration: bool) -> UpsampledMotion:
            return UpsampledMotion(
                model.joint_names, model.limits, has_acceleration=has_acceleration
            )

        runs = {
            "streamed": replay(model, springs, stream, plant=options.plant),
            "C2, motor PD with gravity": replay(
                model, springs, stream, plant=options.plant, motion=upsampled(False),
                variant="rigid",
            ),
            "C2, complete flat map": replay(
                model, springs, stream, plant=options.plant, motion=upsampled(True)
            ),
        }  # fmt: skip
        for name, run in runs.items():
            rows.append((
                f"{rate:g}", name, 1e3 * run.error_rms,
                1e3 * float(np.abs(run.desired[:, 0] - run.q).max()),
                run.error_rms / runs["streamed"].error_rms,
                float(run.torque_rate.max()), 100.0 * limited(run), "; ".join(run.stops) or "-",
            ))  # fmt: skip
    heads = (
        "Hz",
        "method",
        "rms [mrad]",
        "peak [mrad]",
        "times",
        "rate [N m/s]",
        "limited [%]",
        "stopped",
    )
    print("\n".join(text_table(heads, rows)))


if __name__ == "__main__":
    main()
