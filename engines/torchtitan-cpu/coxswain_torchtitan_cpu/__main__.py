"""`python3 -m coxswain_torchtitan_cpu ARGUMENTS`: `python3 -m torchtitan.train ARGUMENTS` on a CPU."""

import os
import sys

from coxswain_torchtitan_cpu.on_cpu import train_on_cpu
from coxswain_torchtitan_cpu.slow_on_purpose import compute_longer_if_asked

if __name__ == '__main__':
    # Where the module lies that `--module` names in a job of engine "torchtitan".
    sys.path.insert(0, os.environ.get('COXSWAIN_ENGINE_FILES', ''))
    train_on_cpu()
    compute_longer_if_asked()
    from torchtitan.train import main

    main()
