# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Streams of targets against "C2 upsampling, then a motor PD", on a Panda with springs.

    python benchmark/streams.py [--plant internal|mujoco] [--seconds 20]
    python benchmark/streams.py --minutes 20 --first 41   random chunks: stops and torque rates
    python benchmark/streams.py --held                    overshoot of points that repeat

With `positions_upsampling`, joint_trajectory_controller makes of every chunk of positions a cubic
spline that is C2 and at rest at its first and last point (ros2_controllers#2491); a cubic leads
there from the desired position and velocity. Its authors name splines that pass from chunk to chunk
without a stop as future work: "through" is one from the desired position and velocity through the
points to come, at rest at the last one. Users close a PD at the motors around it. Two ways of doing
so are compared, both with the gains of `motor_pd`: with the torques that the links' gravity needs,
and, better than any user can today, with the complete flat map of this package, to which the spline
gives no q''' and q''''. The error is that of the links against what each method made of the same
targets; "delay" is the time by which that follows the targets, "limited" the share of cycles in
which the rate of a motor torque had to be cut.
"""

import argparse
import sys
from typing import Any, NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline, CubicSpline

from multibody_dynamics.dynamics import load_actuators, load_urdf
from multibody_dynamics.dynamics.control import DesiredMotion, TrajectoryRequest
from multibody_dynamics.dynamics.motion import SHAPES, interpolate
from multibody_dynamics.reporting.tables import text_table
from multibody_dynamics.resources import share_directory
from multibody_dynamics.simulation import PLANTS
from multibody_dynamics.tools.streams.replay import PERIOD, Replay, replay
from multibody_dynamics.tools.streams.stream_files import RecordedStream, policy_stream

START = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.5])
RATES = (10.0, 20.0, 50.0)  # Hz
HELD = np.array([[0.5], [1.5], [1.5], [1.5]])  # rad
LARGEST_DELAY = 0.5  # s
RISE = 3.0  # s, of the targets and before them


def upsampled(
    now: float, q: Any, qd: Any, times: Any, points: Any, *, is_through: bool = False
) -> Any:
    """A chunk of points (k, n), due at `times` after `now`, as a spline from there in the state q,
    qd, see above."""
    rest = np.zeros_like(q)
    knots, positions = np.r_[now, times], np.vstack([q, points])
    if is_through:
        return CubicSpline(knots, positions, bc_type=((1, qd), (1, rest)))
    rates = CubicSpline(times, points, bc_type=((1, rest), (1, rest)))(times, 1)
    return CubicHermiteSpline(knots, positions, np.vstack([qd, rates]))


class UpsampledMotion(DesiredMotion):
    """Chunks of positions as :func:`upsampled` does; of q'' only the feedforward with
    `has_acceleration` knows."""

    def __init__(self, *arguments: Any, has_acceleration: bool, is_through: bool) -> None:
        super().__init__(*arguments)
        self._spline: Any = None
        self._has_acceleration = has_acceleration
        self._is_through = is_through
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
        self._spline = upsampled(
            now, q, qd, times[later], request.positions[later], is_through=self._is_through
        )

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
    steps = np.abs(np.diff(run.torque, axis=0)) / (PERIOD * run.motors.torque_rate)
    return float((steps > 1.0 - 1e-6).any(axis=1).mean())


def peak(run: Replay) -> float:
    """rad, the largest error of a link."""
    return float(np.abs(run.desired[:, 0] - run.q).max())


def delay(run: Replay, stream: RecordedStream) -> float:
    """s, by which the desired motion follows the targets: the one for which they differ least; NaN
    for short runs. A target counts from the time that it is due until the first point of the next
    chunk is due."""
    targets = np.empty_like(run.q)
    for message in stream.messages:
        since = run.times >= message.times[0]
        for j, column in enumerate(message.positions.T):
            targets[since, j] = np.interp(run.times[since], message.times, column)
    lags = np.arange(round(LARGEST_DELAY / PERIOD))
    begin = round(RISE / PERIOD) + len(lags)
    if begin >= len(targets):
        return np.nan
    errors = [
        np.square(run.desired[begin:, 0] - targets[begin - lag : len(targets) - lag]).mean()
        for lag in lags
    ]
    return PERIOD * int(np.argmin(errors))


class Minute(NamedTuple):
    """What happened in a replay: how often the arm was stopped and a message refused, mean square
    and largest error of the links, rad; the largest torque rate and the share of limited cycles."""

    stops: int
    refused: int
    square: float
    peak: float
    rate: float
    limited: float


def endure(model: Any, springs: Any, plant: str, minutes: range) -> list[Any]:
    """Random chunks, minute by minute, each with other waves, jitter, losses and anchors; Ctrl-C
    ends with the minutes so far."""
    done: dict[float, list[Minute]] = {rate: [] for rate in RATES}
    try:
        for k in minutes:
            rate = RATES[(k - 1) % len(RATES)]
            stream = policy_stream(
                model.joint_names, START, rate=rate, duration=60.0, jitter=0.5, seed=k
            )
            run = replay(model, springs, stream, plant=plant)
            share = float((run.torque_rate / run.motors.torque_rate).max())
            done[rate].append(
                Minute(len(run.stops), len(run.refused), run.error_rms**2, peak(run), share,
                       limited(run))
            )  # fmt: skip
            print(f"minute {k}, {rate:g} Hz: {done[rate][-1]}", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        pass
    rows = []
    for rate, runs in done.items():
        stops, refused, square, peaks, rates, shares = map(np.array, zip(*runs, strict=True))
        rows.append((
            f"{rate:g}", len(runs), stops.sum(), refused.sum(), 1e3 * np.sqrt(square.mean()),
            1e3 * peaks.max(), 100.0 * rates.max(), 100.0 * shares.max(),
        ))  # fmt: skip
    return rows


def held() -> dict[str, float]:
    """The largest position of motions through HELD, a second apart."""
    times = np.arange(len(HELD), dtype=np.float64)
    fine, found = np.linspace(0.0, times[-1], 301), {}
    for shape in SHAPES:
        motion = interpolate(["joint"], times, HELD, shape=shape)
        found[shape] = max(float(motion(t)[0, 0]) for t in fine)
    chunk = upsampled(-1.0, HELD[0], np.zeros(1), times, HELD)
    return found | {"C2": float(chunk(fine).max())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plant", choices=PLANTS, default="internal")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--minutes", type=int, default=0)
    parser.add_argument("--first", type=int, default=1, help="seed of the first minute")
    parser.add_argument("--held", action="store_true")
    options = parser.parse_args()
    if options.held:
        print("\n".join(text_table(("motion", "largest position [rad]"), list(held().items()))))
        return
    config = share_directory() / "config"
    model = load_urdf(config / "robots" / "panda.urdf")
    springs = load_actuators(config / "elastic_joints" / "panda.yaml", model.joint_names)
    if options.minutes:
        minutes = range(options.first, options.first + options.minutes)
        found = endure(model, springs, options.plant, minutes)
        heads = ("Hz", "minutes", "stops", "refused", "rms [mrad]", "peak [mrad]", "rate [%]",
                 "limited [%]")  # fmt: skip
        print("\n".join(text_table(heads, found)))
        return
    rows = []
    for rate in RATES:
        stream = policy_stream(
            model.joint_names, START, rate=rate, duration=options.seconds, jitter=0.5
        )
        streamed = replay(model, springs, stream, plant=options.plant)
        runs = {"streamed": streamed}
        for name, has_acceleration, is_through in (
            ("C2, gravity", False, False),
            ("C2, flat map", True, False),
            ("C2 through, flat map", True, True),
        ):
            motion = UpsampledMotion(
                model.joint_names, model.limits, has_acceleration=has_acceleration,
                is_through=is_through,
            )  # fmt: skip
            runs[name] = replay(
                model, springs, stream, plant=options.plant, motion=motion,
                variant="full" if has_acceleration else "rigid",
            )  # fmt: skip
        for name, run in runs.items():
            rows.append((
                f"{rate:g}", name, 1e3 * run.error_rms, 1e3 * peak(run),
                run.error_rms / streamed.error_rms, 1e3 * delay(run, stream),
                float(run.torque_rate.max()), 100.0 * limited(run), "; ".join(run.stops) or "-",
            ))  # fmt: skip
    heads = ("Hz", "method", "rms [mrad]", "peak [mrad]", "times", "delay [ms]", "rate [N m/s]",
             "limited [%]", "stopped")  # fmt: skip
    print("\n".join(text_table(heads, rows)))


if __name__ == "__main__":
    main()
