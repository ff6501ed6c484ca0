"""The start of a fuzz script."""

from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from rondo import start


def test_ctrl_c_before_the_first_case_is_told_in_one_line(monkeypatch, capsys) -> None:
    def run(target: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setitem(sys.modules, "rondo.fuzzer", SimpleNamespace(run=run))
    with pytest.raises(SystemExit) as ended:
        start.fuzz("toy")
    assert ended.value.code == 130
    assert "before the first case" in capsys.readouterr().err
