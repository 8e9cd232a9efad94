"""The text that ships with the repository is what its script writes."""

from __future__ import annotations

import runpy
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / 'examples' / 'data'


def test_the_script_writes_the_committed_text_byte_for_byte() -> None:
    written = runpy.run_path(str(FOLDER / 'generate.py'))['text']()
    assert written.encode('ascii') == (FOLDER / 'logbook.txt').read_bytes()
