"""The hook through which a training engine tells the launcher what it does.

Standard library only, so that any engine can use it in any image. See the
README beside this package for the facts an engine may report.
"""

from coxswain_agent.reporter import Reporter
from coxswain_agent.timer import StepTimer

__all__ = ['Reporter', 'StepTimer']
