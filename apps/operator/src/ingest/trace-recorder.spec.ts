import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readHeader, readRecord, type TraceHeader } from '@coxswain/health';
import { aLayout } from '@coxswain/layout/testing';
import { TraceRecorder } from './trace-recorder.ts';

const HEADER: TraceHeader = {
  kind: 'header',
  version: 1,
  layout: aLayout({ dataParallelDegree: 4 }),
  nodes: [{ node: 'a', ranks: '0-3' }],
  reportEveryMs: 10_000,
};
const RUN = { jobUid: 'job-1', epoch: 2, incarnation: 1 };

let directory: string;
let logged: string[];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'coxswain-traces-'));
  logged = [];
});
afterEach(() => rmSync(directory, { recursive: true, force: true }));

const recorder = (bounds: { mostBytes?: number; mostFiles?: number } = {}): TraceRecorder =>
  new TraceRecorder({ directory, warn: (sentence) => void logged.push(sentence), ...bounds });
const linesOf = (name: string): readonly string[] => readFileSync(join(directory, name), 'utf8').trim().split('\n');

describe('the recorder of what ranks tell', () => {
  it('writes a run into a file of its own, header first, as replay reads it', async () => {
    const records = recorder();
    records.begin(RUN, HEADER);
    records.add('job-1', { kind: 'heartbeat', atMs: 5, ranks: [{ rank: 1, step: 7 }] });
    records.add('job-2', { kind: 'tick', atMs: 6 });
    await records.close();
    const [first = '', ...others] = linesOf('job-1-e2-i1.jsonl');
    expect(readHeader(first)).toEqual({ kind: 'read', value: HEADER });
    expect(others.map(readRecord)).toEqual([
      { kind: 'read', value: { kind: 'heartbeat', atMs: 5, ranks: [{ rank: 1, step: 7 }] } },
    ]);
  });

  it('ends a recording that is full, and says so once', async () => {
    const records = recorder({ mostBytes: 600 });
    records.begin(RUN, HEADER);
    for (let atMs = 1; atMs <= 100; atMs += 1) records.add('job-1', { kind: 'tick', atMs });
    await records.close();
    expect(readFileSync(join(directory, 'job-1-e2-i1.jsonl')).length).toBeLessThanOrEqual(600);
    expect(logged).toEqual(['the health trace of job job-1 has reached its size limit and ends']);
  });

  it('keeps the newest runs, and leaves alone what is not its own', async () => {
    writeFileSync(join(directory, 'notes.txt'), '');
    const records = recorder({ mostFiles: 2 });
    for (let epoch = 1; epoch <= 3; epoch += 1) {
      records.begin({ ...RUN, epoch }, HEADER);
      await records.close();
      utimesSync(join(directory, `job-1-e${epoch}-i1.jsonl`), epoch, epoch);
    }
    expect(readdirSync(directory).sort()).toEqual(['job-1-e2-i1.jsonl', 'job-1-e3-i1.jsonl', 'notes.txt']);
  });

  it.each<[string, string, string]>([
    ['a name that leaves the directory', '../job', ''],
    ['a directory that cannot be made', 'job-1', '/proc/none'],
  ])('writes nothing for %s', async (_what, jobUid, elsewhere) => {
    const records = new TraceRecorder({
      directory: elsewhere === '' ? directory : elsewhere,
      warn: (sentence) => void logged.push(sentence),
    });
    records.begin({ ...RUN, jobUid }, HEADER);
    records.add(jobUid, { kind: 'tick', atMs: 1 });
    await records.close();
    expect([readdirSync(directory), logged.length]).toEqual([[], elsewhere === '' ? 0 : 1]);
  });
});
