import { COLUMNS, csvOf, PLAIN, rowWith } from '../testing/invented-rows.ts';
import { interpretRow } from './interpret-row.ts';
import { MeasurementsError, readRows } from './measured-row.ts';

describe('a file of measurements', () => {
  it.each([
    ['with a byte-order mark', `\uFEFF${csvOf([{}, {}])}`],
    ['with CRLF', csvOf([{}, {}]).replaceAll('\n', '\r\n')],
    ['with an empty line', csvOf([{}, {}]).replace('\n', '\n\n')],
    ['with a line break in a note', csvOf([{ notes: 'one "quoted",\nand a second line' }, {}])],
  ])('is read %s', (_, text) => {
    expect(readRows(text).map((row) => row.id)).toEqual(['invented-1', 'invented-2']);
  });

  it('holds no row when it has only a header', () => {
    expect(readRows(csvOf([]))).toEqual([]);
  });

  it.each([
    ['an empty file', '', 'missing columns id, model'],
    ['a file of something else', 'hello,world\n1,2\n', 'missing columns id, model'],
    ['a file without a needed column', csvOf([{}]).replace('gbs', 'batch'), 'missing column gbs'],
    ['a quote that never ends', `${COLUMNS.join(',')}\n"one`, 'not readable as CSV'],
    ['more cells than columns', `${COLUMNS.join(',')}\n${'x,'.repeat(COLUMNS.length + 3)}\n`, 'not readable as CSV'],
  ])('is refused: %s', (_, text, message) => {
    expect(() => readRows(text)).toThrow(MeasurementsError);
    expect(() => readRows(text)).toThrow(message);
  });

  it.each([
    ['a second row of one id', [{ id: 'a' }, { id: 'a' }], 'the id of the row stands twice'],
    ['a row without an id', [{ id: '' }], 'the row has no id'],
    ['a time that is no number', [{ iter_time_s: 'fast' }], 'iter_time_s is not a positive number'],
    ['a negative time', [{ iter_time_s: '-1' }], 'iter_time_s is not a positive number'],
    ['an endless time', [{ iter_time_s: '1e999' }], 'iter_time_s is not a positive number'],
    ['a negative memory', [{}, { id: 'b', mem_per_gpu_gib: '-3' }], 'mem_per_gpu_gib is not a positive number'],
  ])('keeps %s, at fault, and predicts it not', (_, cells, fault) => {
    const row = readRows(csvOf(cells)).at(-1);
    expect(row?.fault).toBe(fault);
    expect(row === undefined ? undefined : interpretRow(row)).toEqual({ unpredicted: fault });
  });

  it('shows the rules neither answers nor names of rows', () => {
    const { stated } = rowWith({});
    for (const hidden of [
      'id',
      'source',
      'iter_time_s',
      'mem_per_gpu_gib',
      'tflops_per_gpu',
      'mfu_pct',
      'tokens_per_s_per_gpu',
    ]) {
      expect(stated).not.toHaveProperty(hidden);
    }
  });

  it.each([
    ['out of memory', { iter_time_s: '', notes: 'no TFLOPs; OUT OF MEMORY on 80 GB (feasibility label)' }, true],
    ['OOM on a card', { iter_time_s: '', notes: 'OOM on 80 GB H100 (feasibility label)' }, true],
    ['a sibling that ran out of memory', { notes: 'rows with none or moe_act recompute were OOM on 80 GB' }, false],
    ['nothing', { notes: '' }, false],
  ])('%s in a note: label %#', (_, change, expected) => {
    expect(rowWith(change).outOfMemory).toBe(expected);
  });

  it('says whether the sizes of a layout are published', () => {
    expect(rowWith({}).hasFullLayout).toBe(true);
    expect(rowWith({ tp: '' }).hasFullLayout).toBe(false);
    expect(PLAIN['dp']).toBe('4');
    expect(rowWith({ dp: '' }).hasFullLayout).toBe(true);
  });
});
