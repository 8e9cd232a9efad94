import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { csvOf } from '../testing/invented-rows.ts';
import { interpretRow } from './interpret-row.ts';
import { filesOrRepository, readMeasurements } from './measurement-files.ts';

describe('files of measurements', () => {
  let directory: string;

  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'measurements-'));
  });

  afterEach(() => {
    rmSync(directory, { recursive: true });
  });

  function file(name: string, content: string): string {
    const path = join(directory, name);
    writeFileSync(path, content);
    return path;
  }

  it('are read together, and each row knows its file', () => {
    const { rows, files } = readMeasurements([
      file('a.csv', csvOf([{ id: 'a' }])),
      file('b.csv', csvOf([{ id: 'b' }])),
    ]);
    expect(rows.map(({ id }) => id)).toEqual(['a', 'b']);
    expect([...files]).toEqual([
      ['a', 'a.csv'],
      ['b', 'b.csv'],
    ]);
  });

  it('count a row whose id another file has as unpredicted', () => {
    const [a, b] = [file('a.csv', csvOf([{ id: 'x' }])), file('b.csv', csvOf([{ id: 'x' }]))];
    expect(readMeasurements([a, b]).rows.map(({ fault }) => fault)).toEqual([
      undefined,
      'the id of the row stands twice',
    ]);
  });

  it('must exist', () => {
    expect(() => readMeasurements([join(directory, 'none.csv')])).toThrow('none.csv cannot be read: there is no ');
  });

  it('are named when they are wrong', () => {
    expect(() => readMeasurements([file('wrong.csv', 'hello,world')])).toThrow('wrong.csv: line 1: missing columns id');
  });

  it('of the repository that are fitted are the published ones alone: what is kept apart stays a test of them', () => {
    expect(filesOrRepository([]).map((path) => basename(path))).toEqual([
      'measurements.csv',
      'measurements_single_node.csv',
    ]);
  });

  it.each([
    { file: 'measurements_h100_kept_apart.csv', ran: 76, outOfMemory: 4, noisy: 14 },
    { file: 'measurements_h200_kept_apart.csv', ran: 80, outOfMemory: 0, noisy: 14 },
    { file: 'measurements_h100_experts_fp8_kept_apart.csv', ran: 83, outOfMemory: 0, noisy: 0 },
    { file: 'measurements_h200_experts_kept_apart.csv', ran: 38, outOfMemory: 0, noisy: 0 },
    { file: 'measurements_h100_frameworks_kept_apart.csv', ran: 7, outOfMemory: 0, noisy: 0 },
    { file: 'measurements_torchtitan_published_kept_apart.csv', ran: 14, outOfMemory: 0, noisy: 0 },
    { file: 'measurements_deepspeed_published_kept_apart.csv', ran: 11, outOfMemory: 0, noisy: 1 },
  ])('hold the rows kept apart, all understood, those that the host paces marked: $file', (expected) => {
    const { rows } = readMeasurements([join(import.meta.dirname, '../../data', expected.file)]);
    const reasons = rows.map(interpretRow).flatMap((one) => ('unpredicted' in one ? [one.unpredicted] : []));
    expect(reasons).toEqual([]);
    expect(rows.filter(({ iterTimeS }) => iterTimeS !== undefined)).toHaveLength(expected.ran);
    expect(rows.filter(({ outOfMemory }) => outOfMemory)).toHaveLength(expected.outOfMemory);
    expect(rows.filter(({ quality }) => quality === 'C')).toHaveLength(expected.noisy);
  });
});
