# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""Progress bars appear only on a terminal."""

from __future__ import annotations

import io

from multibody_dynamics.tools.base.progress import ProgressBar, progress_bar


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_shown_on_a_terminal_only():
    shown, hidden = Terminal(), io.StringIO()
    for stream in (shown, hidden):
        bar = ProgressBar("messages", stream)
        bar(10, 100)
        bar(100, 100)
    assert "100% of 100 messages" in shown.getvalue()
    assert not hidden.getvalue()


def test_the_progress_bar_is_for_terminals(capsys, monkeypatch):
    assert progress_bar("x") is None
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    show = progress_bar("top")
    show(0.5)
    show(1.0)
    first, last = capsys.readouterr().err.split("\r")[1:]
    assert first == f"top [{'#' * 20}{'.' * 20}]  50%"
    assert last == f"top [{'#' * 40}] 100%\n"
