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

  it.each<[string, readonly string[], string, readonly string[]]>([
    ['ends the oldest of the namespace with most', ['big', 'big', 'big', 'small'], 'new', ['0', 'new']],
    ['is not made if its own namespace has most', ['big', 'big', 'big', 'small'], 'big', []],
    ['is not made where all have as many', ['a', 'a', 'b', 'b'], 'a', []],
  ])(
    'makes no more recordings at a time than files are kept: one of another run %s',
    async (_, namespaces, of, changed) => {
      const records = recorder({ mostFiles: 4 });
      for (const [index, namespace] of namespaces.entries())
        records.begin({ ...RUN, jobUid: `job-${index}` }, HEADER, namespace);
      records.begin({ ...RUN, jobUid: 'job-new' }, HEADER, of);
      for (const jobUid of ['job-0', 'job-1', 'job-2', 'job-3', 'job-new'])
        records.add(jobUid, { kind: 'tick', atMs: 1 });
      await records.close();
      const hasTick = (jobUid: string): boolean => linesOf(`${jobUid}-e2-i1.jsonl`).length > 1;
      const isThere = (name: string): boolean => readdirSync(directory).includes(`job-${name}-e2-i1.jsonl`);
      expect(isThere('new') ? ['0', 'new'] : []).toEqual(changed);
      expect(['1', '2', '3'].filter((name) => hasTick(`job-${name}`))).toEqual(['1', '2', '3']);
      expect(isThere('0') && hasTick('job-0')).toBe(changed.length === 0);
    },
  );

  it('never removes a file that is being written', async () => {
    const records = recorder({ mostFiles: 2 });
    records.begin({ ...RUN, jobUid: 'open' }, HEADER, 'a');
    for (let epoch = 1; epoch <= 3; epoch += 1) {
      records.begin({ ...RUN, epoch }, HEADER, 'b');
      while (!readdirSync(directory).includes(`job-1-e${epoch}-i1.jsonl`))
        await new Promise((done) => setImmediate(done));
      records.end(RUN.jobUid);
    }
    await records.close();
    expect(readdirSync(directory)).toContain('open-e2-i1.jsonl');
    expect(readdirSync(directory).length).toBeLessThanOrEqual(2);
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
