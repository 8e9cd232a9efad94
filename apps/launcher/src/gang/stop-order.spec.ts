/** Real shells and programs: which of them gets SIGTERM, how often, and how their rank ends. */
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { waitFor } from '@coxswain/local-cluster';
import { Gang } from './gang.ts';
import { LogSink } from '../logs/log-relay.ts';
import type { Verdict } from '../ending/verdict.ts';

/** Trains until SIGTERM, notes each one, and takes a moment to save, in which a second one would come. */
const RANK = `
import os, signal, sys, time
def stop(*_):
    with open('asked', 'a') as file: file.write('x')
signal.signal(signal.SIGTERM, stop)
open('ready', 'w').close()
while not os.path.exists('asked'): time.sleep(0.01)
time.sleep(0.2)
open('saved', 'w').close()
sys.exit(75)
`;
/** Starts the rank, forwards SIGTERM to it and fails afterwards, as torchrun does. */
const STARTER = `
import signal, subprocess, sys
rank = subprocess.Popen(['python3', 'rank.py'])
signal.signal(signal.SIGTERM, lambda *_: rank.terminate())
rank.wait()
sys.exit(0)
`;

const directories: string[] = [];

afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

interface Stopped {
  readonly verdict: Verdict;
  readonly has: (name: string) => boolean;
  readonly asked: number;
}

/** Runs the script as the only rank until a file says that it is at work, and asks it to stop. */
async function stopScript(script: string, graceMs = 60_000): Promise<Stopped> {
  const directory = mkdtempSync(join(tmpdir(), 'stop-order-'));
  directories.push(directory);
  writeFileSync(join(directory, 'rank.py'), RANK);
  writeFileSync(join(directory, 'starter.py'), STARTER);
  const has = (name: string): boolean => existsSync(join(directory, name));
  const gang = new Gang({
    settings: { nodeName: 'node-a', gracePeriodMs: graceMs },
    own: { ranks: [0], worldSize: 1, podIndex: 0, podCount: 1, incarnation: 1 },
    bootId: directory,
    command: ['bash', '-c', `cd ${directory}; ${script}`],
    environment: process.env,
    stdout: new LogSink(new PassThrough().resume()),
    stderr: new LogSink(new PassThrough().resume()),
    onFact: () => undefined,
  });
  await gang.start({ host: '127.0.0.1', port: 1 });
  await waitFor(() => has('ready'), { intervalMs: 10, what: 'the rank' });
  gang.requestStop(graceMs);
  const verdict = await gang.ended;
  const asked = has('asked') ? readFileSync(join(directory, 'asked'), 'utf8').length : 0;
  return { verdict, has, asked };
}

describe('SIGTERM reaches the program that trains once, and it saves', () => {
  it.each([
    ['behind a shell that has more to do', 'python3 rank.py; echo after > after', true],
    ['which replaced its shell', 'exec python3 rank.py', false],
    ['behind two shells', "sh -c 'python3 rank.py; :'; echo after > after", true],
    ['behind a starter that forwards it', 'python3 starter.py; echo after > after', true],
    [
      'behind a shell that forwards it',
      'trap "kill -TERM \\$child" TERM; python3 rank.py & child=$!; wait $child',
      false,
    ],
    ['before a pipe, whose reader lives', 'python3 rank.py | { cat; echo after > after; }', true],
  ])('%s', async (_sentence, script, goesOn) => {
    const { verdict, has, asked } = await stopScript(script);
    expect([asked, has('saved'), has('after')]).toEqual([1, true, goesOn]);
    expect(verdict).toMatchObject({ kind: 'stopped', exitCode: 75 });
    expect(verdict.stop).toMatchObject({ graceMs: 60_000, signalled: 1, unhandled: 0, killed: false });
  });
});

it('a program without a handler ends at once, which the verdict says, and its shell goes on', async () => {
  // The program itself says that it is there: a shell that has not started it yet would be the one to end.
  const program = `python3 -c "import time; open('ready', 'w'); time.sleep(1000)"`;
  const { verdict, has } = await stopScript(`${program}; echo after > after`);
  expect([verdict.kind, has('after')]).toEqual(['stopped', true]);
  expect(verdict.stop).toMatchObject({ signalled: 1, unhandled: 1, killed: false });
});

it('a shell that does not end is killed with the end of the grace period, and the verdict says so', async () => {
  const { verdict } = await stopScript('python3 rank.py; sleep 1000', 1_000);
  expect(verdict).toMatchObject({ kind: 'stopped', signal: 'SIGKILL', stop: { graceMs: 1_000, killed: true } });
});
