import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { complaintsDuring } from './complaints.ts';

describe('what programs complained about while a test file ran', () => {
  let runs: string;
  const started = Date.now();
  const always = { startMs: started - 3_600_000, endMs: started + 3_600_000 };
  const log = (run: string, name: string, ...entries: readonly (object | string)[]): void => {
    const folder = join(runs, run, 'logs');
    mkdirSync(folder, { recursive: true });
    const lines = entries.map((entry) => `${typeof entry === 'string' ? entry : JSON.stringify(entry)}\n`);
    writeFileSync(join(folder, name), lines.join(''));
  };
  const entry = (level: string, second: number, more: object = {}): object => ({
    level,
    time: `2026-01-01T00:00:0${second}.000Z`,
    msg: `${level} of second ${second}`,
    ...more,
  });

  beforeEach(() => {
    runs = mkdtempSync(join(tmpdir(), 'complaints-'));
  });

  afterEach(() => rmSync(runs, { recursive: true }));

  it('is told program by program, in the order of time, with the reason', () => {
    log('system-a', 'api.log', entry('warn', 2, { reason: 'refused' }), entry('info', 3));
    log('system-a', 'operator-0.log', entry('error', 1, { err: { message: 'boom' } }));
    expect(complaintsDuring(runs, always, 9)).toEqual([
      'operator-0 00:00:01.000 error error of second 1: boom',
      'api 00:00:02.000 warn warn of second 2: refused',
    ]);
  });

  it('leaves out other programs, lines that are no entries, and what is older than the newest few', () => {
    log('system-a', 'etcd.log', entry('error', 1));
    log('system-a', 'nodes.log', 'not JSON', '{"level":7}', entry('warn', 1), entry('warn', 2), entry('warn', 3));
    expect(complaintsDuring(runs, always, 2)).toEqual([
      'nodes 00:00:02.000 warn warn of second 2',
      'nodes 00:00:03.000 warn warn of second 3',
    ]);
  });

  it('leaves out what other test files started, and knows of nothing where nothing was started', () => {
    log('system-a', 'api.log', entry('warn', 1));
    expect(complaintsDuring(runs, { startMs: 0, endMs: started - 3_600_000 }, 9)).toEqual([]);
    expect(complaintsDuring(join(runs, 'nowhere'), always, 9)).toEqual([]);
  });
});
