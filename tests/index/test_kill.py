from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def test_a_killed_process_loses_nothing_acknowledged(tmp_path: Path) -> None:
    script = Path(__file__).with_name("kill_loop.py")
    ran = subprocess.run(
        [sys.executable, script, tmp_path, "--kills", "25"], capture_output=True, text=True, timeout=240, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.startswith("25 kills, nothing lost")
