# Copyright 2026 multibody_dynamics developers
# SPDX-License-Identifier: Apache-2.0

"""The notebooks run from top to bottom; each asserts its own conclusions."""

import os
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_the_notebook_runs_and_draws(file, monkeypatch, tmp_path):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    monkeypatch.setenv("MPLBACKEND", "module://matplotlib_inline.backend_inline")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(file, as_version=4)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}})
    client.create_kernel_manager()
    client.km.kernel_spec.argv[0] = sys.executable
    client.execute()
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    pictures = [o for o in outputs if "image/png" in o.get("data", {})]
    draws = "pyplot" in file.read_text(encoding="utf-8")
    assert bool(pictures) is draws
    assert os.path.getsize(file) < 20_000, "stored without outputs"


def test_there_are_notebooks():
    assert len(NOTEBOOKS) == 3
    for file in NOTEBOOKS:
        cells = nbformat.read(file, as_version=4).cells
        assert not any(cell.get("outputs") for cell in cells), file
        assert cells[0].source.startswith("# ")
