# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The filtered equations of all runs: computed once, weighted and judged many times.

Memory is bounded: of long recordings, evenly spread pieces are used. Rare events, such as a
collision, do not follow the equations; their samples are found by their residuals, and are left out
together with all samples over which the filters spread them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter1d

from ...core import Array, InputError
from ..signals.parallel_filter import ParallelFilter
from .drive_equations import SHORTEST, DriveEquations, Filters, filters_of
from .equation_sums import EquationSums, left_side
from .measured_run import MeasuredRun

MOST_STATES = 120_000  # of all runs together
PIECE = 20.0  # s, length of the pieces that are used of a long recording
NOISE_SAMPLES = 6_000  # states from which the effect of the noise of positions is computed
OUTLIER = 8.0  # robust standard deviations
CLOSE = 1e-3  # rms of residuals, relative to the left side: tabulated friction is no more accurate
AT_REST = 0.01  # of the rms velocity
STILL = 1e-3  # rad/s or m/s: slower joints rest
NOISE = 5.0  # standard deviations of the noise of a velocity
RATE_SPREAD = 0.05  # relative difference of sampling rates that count as equal


class Piece(NamedTuple):
    """A part of a run without gaps."""

    run: int
    part: slice


@dataclass(frozen=True, eq=False)
class Block:
    """Filtered samples (k, width) without gaps, from one run; the first column is the time.

    used : (k, channels) whether a sample is used in an equation.
    """

    run: int
    rows: Array
    used: NDArray[np.bool_]


class FilterPlan:
    """Which parts of the runs are used, and with which filters."""

    def __init__(self, runs: Sequence[MeasuredRun], cutoff: float) -> None:
        rates = np.array([run.rate for run in runs])
        middle = float(np.median(rates))
        for run in runs:
            if abs(run.rate - middle) > RATE_SPREAD * middle:
                raise InputError(
                    f"run '{run.name}' was sampled at {run.rate:.5g} Hz, others at {middle:.5g} "
                    "Hz: resample them to one rate, or identify them separately"
                )
        self.runs, self.cutoff = runs, cutoff
        self.filters = [filters_of(run.rate, cutoff) for run in runs]
        states = sum(
            len(run.position) / each.step for run, each in zip(runs, self.filters, strict=True)
        )
        self.share = min(MOST_STATES / max(states, 1.0), 1.0)
        self.pieces = self._pieces()

    def _pieces(self) -> list[Piece]:
        """All stretches, or pieces of them that make up the share, evenly spread over all runs."""
        whole = [Piece(i, part) for i, run in enumerate(self.runs) for part in run.stretches]
        if self.share == 1.0:
            return whole
        pieces, passed, kept = [], 0.0, 0.0
        for i, part in whole:
            length, step = int(PIECE * self.runs[i].rate), self.filters[i].step
            for begin in range(part.start, part.stop, length):
                piece = slice(begin, min(begin + length, part.stop))
                states = (piece.stop - piece.start) / step
                passed += self.share * states
                if kept + 0.5 * states <= passed:
                    pieces.append(Piece(i, piece))
                    kept += states
        return pieces

    def first(self, states: int) -> list[Piece]:
        """Pieces with about this many states, evenly spread."""
        total = sum((part.stop - part.start) / self.filters[i].step for i, part in self.pieces)
        share = min(states / max(total, 1.0), 1.0)
        return [
            Piece(i, slice(part.start, part.start + max(int(share * (part.stop - part.start)), 1)))
            for i, part in self.pieces
        ]


def filtered_blocks(
    equations: DriveEquations,
    plan: FilterPlan,
    pieces: Sequence[Piece],
    middle: tuple[float, float],
    noise: Sequence[Sequence[Array]] | None = None,
    seed: int = 0,
) -> list[Block]:
    """The filtered equations of pieces of the runs.

    middle : see :meth:`.DriveEquations.table`. noise : for each run, standard deviations (n,) and
        (m,) of noise that is added to the recorded positions of links and motors.
    """
    blocks = []
    rng = np.random.default_rng(abs(seed))
    for piece in pieces:
        run, filters = plan.runs[piece.run], plan.filters[piece.run]
        stretch = piece.part
        if noise is not None:
            run = _with_more_noise(run, stretch, noise[piece.run], rng, float(np.sign(seed)))
            stretch = slice(0, stretch.stop - stretch.start)
        if stretch.stop - stretch.start <= 2 * filters.states.reach + filters.step:
            continue
        state = equations.states(run, stretch, filters)
        table = equations.table(run, state, middle)
        settled = [state.settled.get(each.joint, -np.inf) for each in equations.channels]
        reach, still = reach_of(filters), _still(plan.runs[piece.run], filters)
        blocks += [
            Block(
                piece.run,
                rows,
                _moving(equations, rows, reach, still) & (rows[:, :1] >= np.array(settled)),
            )
            for rows in filters.equations.blocks(table, len(state.times))
            if len(rows) >= SHORTEST
        ]
    return blocks


def _with_more_noise(
    run: MeasuredRun, part: slice, noise: Sequence[Array], rng: np.random.Generator, sign: float
) -> MeasuredRun:
    """A part of a run with noise added to the positions."""
    whole = run.part(part.start, part.stop)
    changed: dict[str, Any] = {}
    for name, size in (("q", noise[0]), ("theta", noise[1])):
        rows = getattr(whole, name)
        if rows is not None:
            changed[name] = rows + sign * size * rng.standard_normal(rows.shape)
    return replace(whole, **changed, starts=(0,))


def position_noise(run: MeasuredRun) -> list[Array]:
    """Standard deviations (n,) and (m,) of the white noise of the positions of links and motors,
    from their fourth differences; zero where velocities were measured."""
    noise = [np.zeros(0 if rows is None else rows.shape[1]) for rows in (run.q, run.theta)]
    for row, (rows, used) in zip(noise, ((run.q, run.qd is None), (run.theta, True)), strict=True):
        if rows is None or not used:
            continue
        longest = max(run.stretches, key=lambda part: part.stop - part.start)
        # The fourth difference of a motion is negligible; that of white noise has the variance
        # of the sum of squared binomial coefficients, and the fifth one is larger.
        fourth = np.diff(rows[longest], n=4, axis=0)
        power = np.mean(fourth**2, axis=0)
        is_noise = np.mean(np.diff(fourth, axis=0) ** 2, axis=0) > power
        row[:] = np.nan_to_num(np.where(is_noise, np.sqrt(power / 70.0), 0.0))
    return noise


def _still(run: MeasuredRun, filters: Filters) -> dict[str, Array]:
    """Velocities (n,) of links and (m,) of motors below which filtered noise could be all."""
    place, rate = filters.states.kernels[:2]
    of_place, of_rate = (float(np.sqrt(np.sum(kernel**2))) for kernel in (place, rate))
    n, m = (0 if rows is None else rows.shape[1] for rows in (run.q, run.theta))
    links, motors = (of_rate * noise for noise in position_noise(run))
    if run.qd is not None:
        links = of_place * position_noise(replace(run, q=run.qd, qd=None))[0]
    width = max(n, m)
    sides = [NOISE * each if len(each) else np.zeros(width) for each in (links, motors)]
    found = [np.maximum(each, STILL) for each in sides]
    return dict(zip(("link", "motor"), found, strict=True))


def _moving(
    equations: DriveEquations, rows: Array, reach: int, still: Mapping[str, Array]
) -> NDArray[np.bool_]:
    """(k, channels): where the friction of an equation is that of a moving joint. At rest, it can
    have any value up to the breakaway friction.

    still : velocities of links and motors that count as rest.
    """
    used = np.ones((len(rows), len(equations.channels)), dtype=bool)
    for k, (channel, place) in enumerate(zip(equations.channels, equations.places, strict=True)):
        if channel.kind == "spring":
            continue
        side = equations.side_of(channel)
        rest = still[side][channel.joint if side == "link" else channel.motor]
        slow = max(AT_REST * equations.nodes_of(channel).speed, float(rest))
        velocity = rows[:, place][:, channel.blocks["viscous"].start]
        fastest = maximum_filter1d(np.abs(velocity), 2 * reach + 1)
        resting = (fastest < slow).astype(np.float64)
        used[:, k] = maximum_filter1d(resting, 2 * reach + 1) < 0.5
    return used


def sums_of(
    equations: DriveEquations,
    blocks: Sequence[Block],
    parallel: ParallelFilter | None,
    longest: int | None = None,
) -> EquationSums:
    """The sums of all blocks, which have passed the filter `parallel`."""
    size = longest or max((len(block.rows) for block in blocks), default=1)
    sums = EquationSums(equations.channels, equations.places, size, parallel)
    for block in blocks:
        for k, used in enumerate(block.used.T):
            for part in _runs(used):
                if part.stop - part.start >= SHORTEST:
                    sums.add(k, block.rows[part])
    return sums


def residuals_of(equations: DriveEquations, block: Block, z: Sequence[Array]) -> Array:
    """Residuals (k, channels) of a block."""
    columns = [block.rows[:, place] @ each for place, each in zip(equations.places, z, strict=True)]
    return np.stack(columns, axis=1)


def without_outliers(
    equations: DriveEquations, blocks: Sequence[Block], z: Sequence[Array], reach: int
) -> tuple[list[Block], float]:
    """The blocks without outliers, and the share of the samples left out.

    reach : samples around an outlier that the filters spread it over.
    """
    errors = [residuals_of(equations, block, z) for block in blocks]
    kept, total, left = [], 0, 0
    scale = _scales(equations, blocks, errors, z)
    for block, error in zip(blocks, errors, strict=True):
        bad = np.abs(error) > OUTLIER * scale
        bad = maximum_filter1d((bad & block.used).astype(np.float64), 2 * reach + 1, axis=0) > 0.5
        total += int(block.used.sum())
        used = block.used & ~bad
        left += int(used.sum())
        kept.append(replace(block, used=used))
    return kept, 1.0 - left / max(total, 1)


def _scales(
    equations: DriveEquations, blocks: Sequence[Block], errors: Sequence[Array], z: Sequence[Array]
) -> Array:
    """(channels,) robust standard deviations of the residuals, at least CLOSE."""
    scales = np.full(len(equations.channels), np.inf)
    for k, (channel, place) in enumerate(zip(equations.channels, equations.places, strict=True)):
        used = [block.used[:, k] for block in blocks]
        error = np.concatenate([x[use, k] for x, use in zip(errors, used, strict=True)])
        if not error.size:
            continue
        left = left_side(channel, z[k])
        sizes = [block.rows[use, place] @ left for block, use in zip(blocks, used, strict=True)]
        size = float(np.sqrt(np.mean(np.concatenate(sizes) ** 2)))
        scales[k] = max(1.4826 * np.median(np.abs(error)), CLOSE * size, 1e-300)
    return scales


def _runs(good: NDArray[np.bool_]) -> list[slice]:
    """Slices of consecutive true values."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], good, [False]])))
    return [slice(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def reach_of(filters: Filters) -> int:
    """Filtered samples over which both filters spread one recorded sample."""
    reach = filters.states.reach / filters.step + filters.equations.reach
    return int(np.ceil(reach / filters.equations.step))
