"""Entry point of one rank: sleeps through the steps, reports and saves as an engine does."""

from __future__ import annotations

import argparse
import os
import select
import signal
import sys
import time
import traceback
from pathlib import Path

from coxswain_agent import Reporter

from coxswain_sleeper.checkpoint import resume, save
from coxswain_sleeper.endings import (
    EXIT_FAILED,
    EXIT_FINISHED,
    EXIT_STOPPED,
    EXIT_TERMINATED,
    EXIT_WRONG_REQUEST,
    CheckpointRefused,
    Ending,
)
from coxswain_sleeper.faults import Fault, fault_from_environment, parse_fault
from coxswain_sleeper.meeting import meet


def loss_at(step: int) -> float:
    """The loss after `step` steps: of nothing but the step, so that two curves of one job can be compared exactly."""
    return round(0.5 + 4.0 / (1.0 + 0.05 * step), 9)


class StopRequest:
    """Whether SIGTERM asked to stop; a sleep ends when it does. A second SIGTERM ends the process."""

    def __init__(self) -> None:
        self._reading, self._writing = os.pipe()
        self.is_asked = False
        signal.signal(signal.SIGTERM, self._on_signal)

    def sleep(self, seconds: float) -> None:
        if not self.is_asked:
            select.select([self._reading], [], [], seconds)

    def _on_signal(self, *_: object) -> None:
        if self.is_asked:
            os._exit(EXIT_TERMINATED)
        self.is_asked = True
        os.write(self._writing, b'!')


class Sleeper:
    """One rank."""

    def __init__(self, options: argparse.Namespace, reporter: Reporter, stop: StopRequest) -> None:
        environment = os.environ
        self._options = options
        self._reporter = reporter
        self._stop = stop
        self._rank = int(environment.get('RANK', '0'))
        self._world_size = int(environment.get('WORLD_SIZE', '1'))
        epoch = environment.get('COXSWAIN_EPOCH', '')
        self._epoch = int(epoch) if epoch.isdigit() else None
        incarnation = environment.get('COXSWAIN_INCARNATION', '')
        self._incarnation = int(incarnation) if incarnation.isdigit() else 1
        save_directory = environment.get('COXSWAIN_SAVE_DIR')
        self._save_directory = Path(save_directory) if save_directory else None
        self._faults: list[Fault] = [*options.fail_at, *fault_from_environment(environment)]
        self._step = 0
        self._tokens = 0
        self._saved_step = 0
        self._save_answered = 0

    def run(self) -> int:
        self._meet()
        self._resume()
        while self._step < self._options.steps:
            if self._stop.is_asked:
                return self._end_stopped()
            self._one_step()
        self._save()
        return EXIT_FINISHED

    def _meet(self) -> None:
        host, port = os.environ.get('MASTER_ADDR', '127.0.0.1'), int(os.environ.get('MASTER_PORT', '0'))
        if port:
            timeout = self._options.meet_seconds
            meet(rank=self._rank, world_size=self._world_size, host=host, port=port, timeout_seconds=timeout)

    def _resume(self) -> None:
        directory = os.environ.get('COXSWAIN_RESUME_FROM')
        if not directory:
            return
        self._step, self._tokens = resume(Path(directory))
        self._saved_step = self._step
        self._reporter.resumed(self._step)
        self._say(f'resumed after step {self._step}')

    def _one_step(self) -> None:
        step = self._step + 1
        for fault in self._faults:
            if fault.happens(rank=self._rank, step=step, epoch=self._epoch, incarnation=self._incarnation):
                self._reporter.wait_until_written(1.0)
                fault.perform()
        began = time.perf_counter()
        self._stop.sleep(self._options.step_ms / 1000)
        step_time_ms = (time.perf_counter() - began) * 1e3
        self._step = step
        self._tokens += self._options.tokens_per_step
        self._reporter.step(
            step=step,
            rank=self._rank,
            step_time_ms=step_time_ms,
            tokens=self._options.tokens_per_step,
            loss=loss_at(step) if self._rank == 0 else None,
            timings_ms={'sleep': step_time_ms},
        )
        if step % self._options.log_every == 0:
            self._say(f'step {step} loss {loss_at(step):.4f}')
        # Rank 0 saves for all, and is whom the launcher asks.
        save_asked = self._reporter.save_asked
        asks_anew, self._save_answered = save_asked > self._save_answered, save_asked
        if asks_anew or (self._options.save_every and step % self._options.save_every == 0):
            self._save()

    def _save(self) -> None:
        if self._rank != 0 or self._save_directory is None or self._saved_step == self._step:
            return
        saved = save(
            self._save_directory,
            step=self._step,
            tokens_seen=self._tokens,
            world_size=self._world_size,
            payload_bytes=self._options.payload_bytes,
            save_ms=self._options.save_ms,
        )
        self._saved_step = self._step
        self._reporter.checkpoint_saved(
            step=self._step,
            directory=saved.directory,
            size_bytes=saved.size_bytes,
            files=saved.files,
            manifest_sha256=saved.manifest_sha256,
        )
        self._say(f'saved {saved.directory}')

    def _end_stopped(self) -> int:
        self._save()
        self._say(f'stopped after step {self._step}')
        return EXIT_STOPPED

    def _say(self, sentence: str) -> None:
        if self._rank == 0:
            print(sentence, flush=True)


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog='python3 -m coxswain_sleeper', description=__doc__)
    add = parser.add_argument
    add('--steps', type=int, required=True, help='steps of the whole training, those resumed included')
    add('--step-ms', type=float, default=50.0, help='how long a step sleeps')
    add('--save-every', type=int, default=0, help='steps between checkpoints; 0: at the end only')
    add('--save-ms', type=float, default=0.0, help='how long a save takes')
    add('--payload-bytes', type=int, default=1024, help='bytes per rank in a checkpoint')
    add('--tokens-per-step', type=int, default=1024)
    add('--log-every', type=int, default=10, help='steps between lines in the log')
    add('--meet-seconds', type=float, default=60.0, help='how long the ranks wait for each other at the start')
    add('--fail-at', type=parse_fault, action='append', default=[], help='RANK:STEP:KIND[:CODE][@EPOCH]')
    return parser.parse_args(arguments)


def main() -> int:
    """Runs one rank and gives its exit code."""
    stop = StopRequest()
    reporter = Reporter.from_environment(saves_when_asked=True)
    try:
        return Sleeper(_parse(sys.argv[1:]), reporter, stop).run()
    except Ending as ending:
        if isinstance(ending, CheckpointRefused) and ending.fault is not None:
            reporter.checkpoint_fault(**ending.fault)
        print(ending, file=sys.stderr, flush=True)
        return ending.exit_code
    except SystemExit as error:  # argparse: 2 for wrong arguments, which no restart will mend
        return EXIT_WRONG_REQUEST if error.code else EXIT_FINISHED
    except Exception:  # noqa: BLE001 - the boundary of the program
        traceback.print_exc()
        return EXIT_FAILED
    finally:
        reporter.close()


if __name__ == '__main__':
    sys.exit(main())
