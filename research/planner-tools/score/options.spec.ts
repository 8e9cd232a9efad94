import { parseOptions } from './options.ts';

describe('options of the score', () => {
  it('scores qualities A and B by source, GPU and kind', () => {
    const options = parseOptions(['rows.csv']);
    expect([...options.qualities]).toEqual(['A', 'B']);
    expect(options).toMatchObject({ files: ['rows.csv'], by: ['source', 'gpu', 'kind'], worst: 0, jsonOnly: false });
  });

  it('shows each file when there are several', () => {
    expect(parseOptions(['a.csv', 'b.csv']).by).toContain('file');
  });

  it.each([
    [['--quality', 'A, C', 'a.csv'], { qualities: new Set(['A', 'C']) }],
    [['--by', 'gpu,stack', '--by', 'file', 'a.csv'], { by: ['gpu', 'stack', 'file'] }],
    [['a.csv', '--worst', '12'], { worst: 12 }],
    [['--json-only', 'a.csv'], { jsonOnly: true }],
    [['--help'], { help: true }],
  ])('%j', (argv, expected) => {
    expect(parseOptions(argv)).toMatchObject(expected);
  });

  it.each([
    [['--by', 'colour', 'a.csv'], 'choose from source, gpu'],
    [['--worst', '-1', 'a.csv'], "'--worst' argument is ambiguous"],
    [['--worst', 'many', 'a.csv'], '--worst many is not a whole number'],
    [['--fast', 'a.csv'], "Unknown option '--fast'"],
  ])('refuses %j', (argv, message) => {
    expect(() => parseOptions(argv)).toThrow(message);
  });
});
