/** Needs Python for ptrace: a killed process whose tracer does not ask after it gives its parent no word, as one that hangs in the kernel. */
import { randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findEnginePython } from '@coxswain/local-cluster';
import { Gang } from './gang.ts';
import { LogSink } from '../logs/log-relay.ts';

const TRACER = `
import ctypes, os, sys, time
PTRACE_SEIZE = 0x4206
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_ulong] * 4
if libc.ptrace(PTRACE_SEIZE, int(sys.argv[1]), 0, 0) != 0:
    sys.exit(os.strerror(ctypes.get_errno()))
with open('held.new', 'w') as file:
    file.write(str(os.getpid()))
os.rename('held.new', 'held')
time.sleep(600)
`;
/** Rank 0 is traced from outside of its group and without its mark; once that is so, rank 1 fails. */
const RANK = `
import os, sys, time
if os.environ['RANK'] == '1':
    while not os.path.exists('held'):
        time.sleep(0.02)
    sys.exit(3)
me = os.getpid()
if os.fork() == 0:
    os.setsid()
    os.execve(sys.executable, [sys.executable, 'tracer.py', str(me)], {})
time.sleep(600)
`;

const directory = mkdtempSync(join(tmpdir(), 'does-not-end-'));
const before = process.cwd();

beforeAll(() => {
  writeFileSync(join(directory, 'tracer.py'), TRACER);
  writeFileSync(join(directory, 'rank.py'), RANK);
  process.chdir(directory);
});
afterAll(() => {
  process.chdir(before);
  process.kill(Number(readFileSync(join(directory, 'held'), 'utf8')), 'SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

describe('a rank that does not end although it was killed', () => {
  it('keeps nobody from hearing how the gang failed, and leaves no room for others in its pod', async () => {
    const gang = new Gang({
      settings: { nodeName: 'node-a', gracePeriodMs: 1_000 },
      own: { ranks: [0, 1], worldSize: 2, podIndex: 0, podCount: 1, incarnation: 1 },
      // The gang kills every process with this mark, also those of other tests: no other test may use it.
      bootId: randomUUID(),
      command: [findEnginePython(), 'rank.py'],
      environment: process.env,
      stdout: new LogSink(process.stdout),
      stderr: new LogSink(process.stderr),
      onFact: () => undefined,
      dyingMs: 1_000,
    });
    await gang.start({ host: '127.0.0.1', port: 1 });
    expect(await gang.ended).toMatchObject({ rank: 1, exitCode: 3, leavesProcesses: true });
    expect(gang.alive).toEqual([
      { rank: 0, alive: true },
      { rank: 1, alive: false },
    ]);
  });
});
