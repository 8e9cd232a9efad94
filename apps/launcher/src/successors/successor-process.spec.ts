/** Processes that were to be successors: what says that they have the hook, and what becomes of those that have none? */
import { vi } from 'vitest';
import { isRunning } from '../testing/launcher-process.ts';
import { SuccessorProcess } from './successor-process.ts';

const HERE = `echo '{"kind":"here"}' >&3`;

afterEach(() => void vi.useRealTimers());

function start(script: string, hookMs = 60_000): SuccessorProcess {
  return new SuccessorProcess({
    ...{ rank: 0, command: ['bash', '-c', script], env: { PATH: process.env['PATH'] }, seen: {}, secrets: undefined },
    ...{ imports: '/nowhere', isPyTorchAlone: false, hookMs, onLine: () => undefined },
  });
}

describe('a process that was to be a successor', () => {
  it.each<[string, string, string, number?]>([
    ['runs the program, because Python found no hook', 'sleep 600', 'its hook did not answer within 0.1 s', 100],
    [
      'says what no successor says',
      `${HERE}; echo '{"kind":"there"}' >&3; sleep 600`,
      'it answered what no successor answers',
    ],
    ['closes its channel and runs on', `${HERE}; exec 3>&-; sleep 600`, 'it closed its channel'],
    ['ends', `${HERE}; exit 7`, 'it ended with exit code 7'],
  ])('is gone if it %s', async (_sentence, script, why, hookMs) => {
    const successor = start(script, hookMs);
    await successor.over;
    expect(successor.why).toBe(why);
    expect(isRunning(successor.pid ?? 0)).toBe(false);
  });

  it('may import and wait as long as it likes once its hook has answered', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const successor = start(`${HERE}; echo '{"kind":"ready"}' >&3; sleep 600`);
    await successor.settled;
    vi.advanceTimersByTime(600_000);
    expect([successor.isReady, successor.why]).toEqual([true, undefined]);
    successor.kill('the test is over');
    await successor.over;
  });
});
