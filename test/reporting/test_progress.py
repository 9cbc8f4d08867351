# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Progress bars appear on a terminal, and lines now and then elsewhere."""

import io

import pytest

from multibody_dynamics.reporting.progress import ProgressBar


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize("stays", [False, True])
def test_progress_is_shown_on_a_terminal_only(stays):
    shown, hidden = Terminal(), io.StringIO()
    for stream in (shown, hidden):
        bar = ProgressBar("messages", stream, stays=stays)
        for done in (10, 70, 100):
            bar(done, 100)
    text = shown.getvalue()
    assert "messages:   0%" in text
    assert text.endswith("left\n") == stays
    assert not hidden.getvalue()


def test_elsewhere_the_beginning_and_a_line_every_ten_seconds_are_shown(monkeypatch):
    times = iter((0.0, 5.0, 9.0, 11.0, 12.0))
    monkeypatch.setattr("multibody_dynamics.reporting.progress.time.monotonic", lambda: next(times))
    stream = io.StringIO()
    bar = ProgressBar("runs", stream)
    for done in (0, 10, 20, 30, 40):
        bar(done, 40)
    assert stream.getvalue() == "runs: 0%\nruns: 75%\n"


def test_a_bar_begins_again_after_its_end():
    stream = Terminal()
    bar = ProgressBar("states", stream, stays=True)
    for _ in range(2):
        bar(0.5)
        bar(1.0)
    assert stream.getvalue().count("100%") == 2
