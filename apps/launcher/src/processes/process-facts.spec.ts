import { spawn } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { waitFor } from '@coxswain/local-cluster';
import { isZombieOf, parentOf } from './process-facts.ts';

it('a process that has ended is a zombie of its parent until that asks for its exit code', async () => {
  // `exec` leaves a parent that never asks.
  const parent = spawn('sh', ['-c', 'true & exec sleep 60'], { stdio: 'ignore' });
  try {
    const { pid = 0 } = parent;
    const childOf = (): number | undefined =>
      readdirSync('/proc')
        .map(Number)
        .find((each) => each > 1 && parentOf(each) === pid);
    await waitFor(() => isZombieOf(childOf() ?? 0, pid), { what: 'the zombie', deadlineMs: 5_000 });
    expect([isZombieOf(childOf() ?? 0, process.pid), isZombieOf(pid, process.pid)]).toEqual([false, false]);
  } finally {
    parent.kill('SIGKILL');
  }
});
