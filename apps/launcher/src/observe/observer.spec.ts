/** A real process as the rank; the test speaks for the hook in it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ObserverReport, type ObserverReply } from '@coxswain/api-types';
import { stateOf } from '../processes/process-facts.ts';
import { Observer } from './observer.ts';

const BOOT_ID = '7a3c0f7e-0000-4000-8000-000000000001';

let directory: string;
let program: ChildProcess;
let observer: Observer;
let reports: ObserverReport[];
let reply: ObserverReply | undefined;
const sockets: Socket[] = [];

beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-observer-'));
  const env = { PATH: process.env['PATH'] ?? '', RANK: '3', WORLD_SIZE: '8', COXSWAIN_BOOT_ID: BOOT_ID };
  program = spawn('sleep', ['60'], { env, stdio: 'ignore' });
  await once(program, 'spawn');
  reports = [];
  reply = {};
  observer = await Observer.start({
    pid: program.pid ?? 0,
    bootId: BOOT_ID,
    socketPath: join(directory, 'socket'),
    send: (report) => {
      reports.push(ObserverReport.parse(JSON.parse(JSON.stringify(report))));
      return Promise.resolve(reply);
    },
  });
});

afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await observer.stop();
  program.kill('SIGKILL');
  rmSync(directory, { recursive: true, force: true });
});

interface Hook {
  readonly say: (fact: object) => void;
  /** The next line of the launcher. */
  readonly line: () => Promise<Record<string, unknown>>;
}

async function hook(rank = 3): Promise<Hook> {
  const socket = connect(join(directory, 'socket'));
  sockets.push(socket);
  const lines: string[] = [];
  let partial = '';
  socket.on('data', (chunk: Buffer) => {
    const [last = '', ...whole] = (partial + chunk.toString()).split('\n').reverse();
    partial = last;
    lines.push(...whole.reverse());
    socket.emit('lines');
  });
  const say = (fact: object): void => void socket.write(`${JSON.stringify(fact)}\n`);
  const line = async (): Promise<Record<string, unknown>> => {
    while (lines.length === 0) await once(socket, 'lines');
    return JSON.parse(lines.shift() ?? '') as Record<string, unknown>;
  };
  say({ kind: 'hello', version: 1, pid: program.pid, bootId: BOOT_ID, rank, hook: 'sitecustomize', reads: ['stacks'] });
  return { say, line };
}

/** Reports until one is as wanted: facts arrive in their own time. */
async function reportUntil(isSo: (report: ObserverReport) => boolean): Promise<ObserverReport> {
  for (;;) {
    await observer.report();
    const report = reports.at(-1);
    if (report !== undefined && isSo(report)) return report;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

const step = (number: number): object => ({ kind: 'step', step: number, rank: 3, stepTimeMs: 20, timingsMs: {} });

describe('an observer', () => {
  it('takes the ranks from their processes, and reports steps and progress', async () => {
    const { say, line } = await hook();
    expect(await line()).toEqual({ kind: 'welcome' });
    const group = { group: '1', operation: 'all_reduce', bytes: 8, enqueued: 5, started: 5, completed: 5, ageMs: 1 };
    say({ kind: 'heartbeat', step: 1, watermark: { phase: 'training', phaseAgeMs: 1, groups: [group] } });
    say(step(2));
    const { ranks, steps, watermarks, processes } = await reportUntil((report) => report.steps.length > 0);
    expect(ranks).toEqual([{ rank: 3, process: program.pid, worldSize: 8, alive: true, step: 2 }]);
    expect(steps).toMatchObject([{ step: 2, ranks: [{ rank: 3, stepTimeMs: 20 }] }]);
    expect(watermarks).toMatchObject([{ rank: 3, phase: 'training' }]);
    expect(processes).toMatchObject([{ rank: 3, state: 'running', program: 'sleep' }]);
    expect(observer.isHasty).toBe(false);
  });

  it('refuses who is not that rank', async () => {
    const { line } = await hook(4);
    expect(await line()).toMatchObject({ kind: 'refused' });
    await observer.report();
    expect(reports.at(-1)?.ranks).toEqual([]);
  });

  it('reports a stopped process, and hastens', async () => {
    const { line } = await hook();
    await line();
    program.kill('SIGSTOP');
    while (stateOf(program.pid ?? 0) !== 'T') await new Promise(setImmediate);
    await observer.report();
    expect(reports.at(-1)?.processes).toMatchObject([{ rank: 3, state: 'stopped' }]);
    expect(observer.isHasty).toBe(true);
  });

  it('keeps the newest 64 steps that were not received', async () => {
    const { say, line } = await hook();
    await line();
    reply = undefined;
    for (let number = 1; number <= 100; number += 1) say(step(number));
    await reportUntil((report) => report.steps.some((one) => one.step === 100));
    reply = {};
    await observer.report();
    expect(reports.at(-1)?.steps.map((one) => one.step)).toEqual(Array.from({ length: 64 }, (_, index) => index + 37));
    await observer.report();
    expect(reports.at(-1)?.steps).toEqual([]);
  });

  it('asks the ranks for the stacks that the operator wants, and sends them with the next report', async () => {
    const { say, line } = await hook();
    await line();
    reply = { stacksWanted: { request: 7, maxBytes: 8_192 } };
    const asked = observer.report();
    const question = await line();
    expect(question).toMatchObject({ kind: 'stacksWanted' });
    const main = { thread: 'MainThread', isMain: true, frames: ['all_reduce (torch.py:1)'] };
    say({ kind: 'stacks', request: question['request'], threads: [main] });
    await asked;
    reply = {};
    await observer.report();
    expect(reports.at(-1)?.stacks).toMatchObject({ request: 7, groups: [{ ranks: '3', frames: main.frames }] });
  });

  it('knows that a rank has ended', async () => {
    const { line } = await hook();
    await line();
    program.kill('SIGKILL');
    await once(program, 'exit');
    await observer.report();
    expect(reports.at(-1)).toMatchObject({ ranks: [{ rank: 3, alive: false }], processes: [], watermarks: [] });
  });
});
