import { renderRequest } from '@coxswain/engines';
import { worldSize } from '@coxswain/layout';
import { optionOf, trainedRows } from '../../tools/generate/trained-systems.ts';
import { CASES, changesOf, exampleLayout, firstLayout, oneRank, renderingOf, trainedLayout } from './cases.ts';

const rows = trainedRows();

/** Degrees are JSON numbers; a record has no `undefined`. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value)) as unknown;
}

describe('each trained layout', () => {
  it.each(CASES)('$file is rendered for $engine, on its ranks and on one', (one) => {
    const layout = trainedLayout(one);
    for (const each of [layout, oneRank(layout)]) {
      expect(renderRequest(renderingOf(one, each))).toMatchObject({ refusal: null });
    }
  });

  it.each(CASES)('$file divides what its system is about, as the example does', (one) => {
    const layout = trainedLayout(one);
    for (const axis of one.axes) {
      expect(optionOf(layout, axis)).toBeGreaterThan(1);
      expect(optionOf(exampleLayout(one.file, one.role), axis)).toBeGreaterThan(1);
    }
  });

  it('is named once, and what it leaves out is in its example', () => {
    const files = CASES.map(({ file }) => file);
    expect(new Set(files).size).toBe(files.length);
    const [first] = CASES;
    if (first === undefined) throw new Error('there is no case');
    const invented = { ...first, changes: [{ option: 'memory.nothing', why: 'there is none' }] };
    expect(() => trainedLayout(invented)).toThrow(`${first.file} has no memory.nothing to leave out`);
  });
});

describe('the record of what was trained', () => {
  it('has at least 15 systems', () => {
    expect(rows.length).toBeGreaterThanOrEqual(15);
  });

  it.each(rows)('of $file is that of its case: layout, changes, ranks and command', (row) => {
    const one = CASES.find(({ file, engine }) => file === row.file && engine === row.engine);
    if (one === undefined) throw new Error(`no case trains ${row.file} on ${row.engine}: run the campaign again`);
    const layout = trainedLayout(one);
    const { program } = renderRequest(renderingOf(one, layout));
    expect(plain({ ...row })).toMatchObject({
      layout: plain(layout),
      changes: plain(changesOf(one)),
      ...(one.savedAt === undefined ? {} : { savedAt: plain(firstLayout(one)) }),
      axes: [...one.axes],
      ranks: worldSize(layout),
      tolerance: one.tolerance,
      command: program?.argv,
    });
  });

  it.each(rows)('of $file shows losses that fall, and differ from those of one rank by less than is allowed', (row) => {
    const [first, last] = row.losses;
    expect(row.largestDifference).toBeLessThanOrEqual(row.tolerance);
    expect(first - last).toBeGreaterThan(100 * row.tolerance);
  });
});
