"""A history that stays on disk tells the same as one that was loaded."""

from pathlib import Path

import pytest

from harness.history import parquet
from harness.history.errors import HistoryError
from harness.history.history import History
from reports.calls import Calls
from reports.lean_history import LeanHistory, load_history
from tests.unit.reports.stored_runs import HOSTILE, lost_write


@pytest.mark.parametrize("rows", [1, 3, 1 << 20])
def test_every_operation_is_the_same_however_it_is_cut_into_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: int
) -> None:
    monkeypatch.setattr(parquet, "ROW_GROUP_ROWS", rows)
    run = lost_write(tmp_path, [*HOSTILE[:2], {"nested": [1, None]}])
    whole, lean = History.load(run), load_history(run)
    assert isinstance(lean, LeanHistory)
    assert [lean.op(op.index) for op in whole] == list(whole)
    assert list(lean) == list(whole)
    own, other = Calls(whole).elements, Calls(lean).elements
    for name in ("row", "kind", "key", "offset"):
        assert getattr(own, name).tolist() == getattr(other, name).tolist()
    assert len(own.row) > 10
    with pytest.raises(IndexError):
        lean.op(len(whole))


def test_chunks_of_a_run_without_end_are_loaded_whole(tmp_path: Path) -> None:
    with pytest.raises(HistoryError):
        load_history(tmp_path)


def test_what_is_no_history_is_told(tmp_path: Path) -> None:
    run = lost_write(tmp_path)
    elements = run / "history.parquet" / "elements.parquet"
    elements.write_bytes((run / "history.parquet" / "keys.parquet").read_bytes())
    with pytest.raises(HistoryError, match="elements have the columns"):
        load_history(run)
    elements.write_bytes(b"PAR1")
    with pytest.raises(HistoryError):
        load_history(run)
