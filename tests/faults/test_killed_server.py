from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_fault_30_a_killed_server_loses_nothing_acknowledged(tmp_path: Path) -> None:
    script = Path(__file__).with_name("kill_server.py")
    ran = subprocess.run(
        [sys.executable, script, tmp_path, "--kills", "15"],
        capture_output=True, text=True, timeout=400, check=False, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.startswith("15 kills, nothing lost")
