"""Run as a rank: the reference engine, whose saves do not go on before a file `go-on` lies beside the save directory.

That a save has begun is said by a file `held-RANK` there.
"""

import os
import sys
import time
from pathlib import Path

from coxswain_reference import train
from coxswain_reference.checkpoint import CheckpointWriter
from coxswain_reference.settings import read_settings

folder = read_settings(sys.argv[1:], os.environ).save_dir.parent
write = CheckpointWriter._write


def write_when_told(self: CheckpointWriter, *arguments: object) -> None:
    Path(folder, f'held-{os.environ["RANK"]}').touch()
    while not Path(folder, 'go-on').exists():
        time.sleep(0.01)
    write(self, *arguments)


CheckpointWriter._write = write_when_told
os._exit(train.main())
