"""Entry point of one rank: `python -m coxswain_reference.train`. Ends with one of the exit codes in `errors`."""

from __future__ import annotations

import os
import sys
import traceback

from coxswain_agent import Reporter

from coxswain_reference.errors import EXIT_FINISHED, EXIT_STOPPED, EXIT_TRACEBACK, CheckpointRefused, EngineError, WrongRequest
from coxswain_reference.faults import fault_from_environment
from coxswain_reference.gathered_errors import let_errors_travel
from coxswain_reference.manifest import Manifest, check_model, check_sizes, read_manifest
from coxswain_reference.needs import check_torch
from coxswain_reference.settings import Settings, read_settings
from coxswain_reference.stop import StopRequest


def main() -> int:
    """Trains, and gives the exit code. A failure is one sentence on stderr, or a traceback where no reason is known."""
    stop = StopRequest()
    stop.watch()
    reporter = Reporter.from_environment(saves_when_asked=True)
    try:
        return _train(reporter, stop)
    except EngineError as error:
        if isinstance(error, CheckpointRefused) and error.fault is not None:
            reporter.checkpoint_fault(**error.fault)
        print(error, file=sys.stderr)
        return error.exit_code
    except Exception:  # noqa: BLE001 - the boundary of the program: told once, here
        traceback.print_exc()
        return EXIT_TRACEBACK
    finally:
        reporter.close()


def _train(reporter: Reporter, stop: StopRequest) -> int:
    let_errors_travel()
    settings = read_settings(sys.argv[1:], os.environ)
    fault = fault_from_environment(os.environ)
    _check_save_directory(settings)
    manifest = None
    if settings.memory is None or settings.memory.resume is None:
        manifest = _read_manifest(settings)

    import torch  # takes seconds, so only after everything that can be refused without it

    check_torch(torch)
    torch.set_num_threads(int(os.environ.get('OMP_NUM_THREADS', '1')))
    from coxswain_reference.trainer import Trainer

    trainer = Trainer(settings, reporter, stop, fault)
    if not trainer.resume_from_memory():
        manifest = manifest or _read_manifest(settings)
        if manifest is not None:
            trainer.resume(manifest)
    return EXIT_FINISHED if trainer.run() else EXIT_STOPPED


def _read_manifest(settings: Settings) -> Manifest | None:
    if settings.resume_from is None:
        return None
    manifest = read_manifest(settings.resume_from)
    check_model(manifest, settings.model)
    check_sizes(settings.resume_from, manifest)
    return manifest


def _check_save_directory(settings: Settings) -> None:
    found = next(settings.save_dir.glob('step-*'), None)
    if found is not None:
        raise WrongRequest(
            f'--save-dir {settings.save_dir} already holds {found.name}; each start needs a save directory of its own.'
        )


if __name__ == '__main__':
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # Not sys.exit: tearing down process groups waits for peers, and a peer may be dead.
    os._exit(code)
