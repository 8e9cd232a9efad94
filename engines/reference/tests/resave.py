"""Run as a rank: loads a checkpoint at this rank's layout and at once saves it again, without training a step."""

import os
import sys

from coxswain_agent import Reporter
from coxswain_reference.manifest import read_manifest
from coxswain_reference.settings import read_settings
from coxswain_reference.stop import StopRequest
from coxswain_reference.trainer import Trainer

settings = read_settings(sys.argv[1:], os.environ)
trainer = Trainer(settings, Reporter(None), StopRequest(), None)
trainer.resume(read_manifest(settings.resume_from))
trainer._writer.start(trainer._optimizer, trainer._progress)
trainer._writer.wait()
os._exit(0)
