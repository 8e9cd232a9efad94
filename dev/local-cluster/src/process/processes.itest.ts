import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startProcess, type ProcessExit, type ProcessHandle } from './processes.ts';
import { waitFor } from './wait.ts';

const WAIT = { intervalMs: 20 };

describe('a supervised process', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'processes-'));
  });

  afterEach(() => rmSync(directory, { recursive: true }));

  const log = (): string => readFileSync(join(directory, 'log'), 'utf8');
  const shell = (script: string): Promise<ProcessHandle> =>
    startProcess({ name: 'script', command: 'sh', args: ['-c', script], logPath: join(directory, 'log') });
  /** Process ids that a script wrote to its log, one line each. */
  const pidsInLog = (count: number): Promise<number[]> =>
    waitFor(
      () => {
        const pids = log().trim().split('\n').filter(Boolean).map(Number);
        return pids.length === count ? pids : undefined;
      },
      { ...WAIT, what: `${count} process ids in the log` },
    );
  const allGone = (pids: readonly number[]): Promise<boolean> =>
    waitFor(() => !pids.some(isAlive), { ...WAIT, what: `processes ${pids.join(', ')} to be gone` });

  it.each<[string, string, ProcessExit]>([
    ['a code', 'exit 3', { code: 3, signal: null }],
    ['success', 'true', { code: 0, signal: null }],
    ['a signal', 'kill -KILL $$', { code: null, signal: 'SIGKILL' }],
  ])('tells that it ended with %s', async (_, script, want) => {
    const process = await shell(script);

    expect(await process.exited).toEqual(want);
  });

  it('writes output and errors to its log', async () => {
    const process = await shell('echo out; echo err >&2');
    await process.exited;

    expect(log()).toBe('out\nerr\n');
  });

  it('gets the signals that are meant for it', async () => {
    const process = await shell('trap "exit 7" USR1; echo $$; while :; do sleep 0.01; done');
    await pidsInLog(1);
    process.signal('SIGUSR1');

    expect(await process.exited).toEqual({ code: 7, signal: null });
  });

  it('may end in its own way when it is stopped', async () => {
    const process = await shell('trap "exit 5" TERM; echo $$; while :; do sleep 0.01; done');
    await pidsInLog(1);

    expect(await process.stop()).toEqual({ code: 5, signal: null });
  });

  it('is killed when it does not end within its grace', async () => {
    const process = await shell('trap "" TERM; echo $$; while :; do sleep 0.01; done');
    await pidsInLog(1);

    expect(await process.stop({ graceMs: 100 })).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('takes along the children that it left behind, detached ones too', async () => {
    const hasSpoken = `[ -s ${join(directory, 'log')} ]`;
    const process = await shell(
      `(setsid sh -c "echo \\$\\$; exec sleep 600" &); until ${hasSpoken}; do sleep 0.01; done; exit 0`,
    );
    await process.exited;

    await allGone(await pidsInLog(1));
  });

  it('goes with its supervisor, even when that is killed', async () => {
    const process = await shell('echo $$; exec sleep 600');
    const [pid = 0] = await pidsInLog(1);
    globalThis.process.kill(parentOf(pid), 'SIGKILL');

    await allGone([pid]);
    expect(await process.exited).toEqual({ code: null, signal: 'SIGKILL' });
  });

  it('leaves nothing when its owner is killed: no child, no daemon, nobody who ignores SIGTERM', async () => {
    const owner = join(directory, 'owner.ts');
    const script = [
      'trap "" TERM; echo $$',
      '(setsid sh -c "(echo \\$\\$; exec sleep 600) &" &)',
      'sh -c "echo \\$\\$; while :; do sleep 0.05; done" &',
      'while :; do sleep 0.05; done',
    ].join('\n');
    writeFileSync(
      owner,
      `import { startProcess } from ${JSON.stringify(join(import.meta.dirname, 'processes.ts'))};
       await startProcess({ name: 'script', command: 'sh', args: ['-c', ${JSON.stringify(script)}],
         logPath: ${JSON.stringify(join(directory, 'log'))}, orphanGraceMs: 200 });`,
    );
    const running = spawn(process.execPath, [owner], { stdio: 'inherit' });
    await waitFor(() => log() !== '', { ...WAIT, what: 'the first line of the log' });
    const pids = await pidsInLog(3);
    running.kill('SIGKILL');

    await allGone([...pids, parentOf(pids[0] ?? 0)]);
  });

  it('that cannot be started is an error with its name and the reason', async () => {
    const missing = startProcess({
      name: 'etcd',
      command: '/nowhere/etcd',
      args: [],
      logPath: join(directory, 'log'),
    });

    await expect(missing).rejects.toThrow(/^etcd could not be started \(\/nowhere\/etcd\): .*No such file/);
  });

  it('that ends before it is ready is an error with the end of its log', async () => {
    const failing = startProcess({
      name: 'etcd',
      command: 'sh',
      args: ['-c', 'echo "address in use"; exit 1'],
      logPath: join(directory, 'log'),
      ready: { check: () => false, deadlineMs: 60_000 },
    });

    await expect(failing).rejects.toThrow(/etcd ended \(exit code 1\) before it was ready[^]*address in use/);
  });
});

/** A zombie counts as gone: it holds nothing but its number. */
function isAlive(pid: number): boolean {
  const fields = statFields(pid);
  return fields !== undefined && fields[0] !== 'Z';
}

function parentOf(pid: number): number {
  return Number(statFields(pid)?.[1] ?? 0);
}

/** State, parent, ... of proc_pid_stat(5); undefined when there is no such process. */
function statFields(pid: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8')
      .replace(/^.*\) /s, '')
      .split(' ');
  } catch {
    return undefined;
  }
}
