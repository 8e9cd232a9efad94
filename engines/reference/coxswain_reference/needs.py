"""What of PyTorch the engine cannot do without, looked at before anything is loaded.

An image with an older PyTorch would otherwise fail in the middle of the first step, on every rank, and again after each
restart.
"""

from __future__ import annotations

from typing import Any

from coxswain_reference.errors import WrongRequest

LOWEST_VERSION = '2.15'
"""What the engine is developed and tested against (engines/requirements.txt)."""

FUNCTIONS = ('reduce_scatter_single', 'all_gather_single')
"""Of `torch.distributed`; each came later than the rest of what is used."""


def check_torch(torch: Any) -> None:
    """Refuses a PyTorch that lacks what the engine calls."""
    missing = [f'torch.distributed.{name}' for name in FUNCTIONS if not hasattr(torch.distributed, name)]
    if missing:
        raise WrongRequest(
            f'PyTorch {torch.__version__} of this image lacks {", ".join(missing)}; '
            f'the engine needs PyTorch {LOWEST_VERSION} or later: use an image that has it.'
        )
