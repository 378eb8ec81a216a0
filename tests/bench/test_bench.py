"""Each row of the benchmarks runs and gives figures. How good they are is not for a test: no machine is the same."""

from math import isfinite
from pathlib import Path

import pytest

from bench.harness import Place, Row
from bench.rows import ROWS


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_a_tiny_measurement_gives_every_figure_of_the_row(row: Row, tmp_path: Path) -> None:
    measured = row.measure(Place(tmp_path, scale=0.001))
    assert len(measured.figures) == len(row.targets)
    assert all(values and all(isfinite(value) and value > 0 for value in values) for values in measured.figures)
