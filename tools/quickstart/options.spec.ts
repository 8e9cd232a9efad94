import { parseOptions } from './options.ts';

const DEFAULTS = { help: false, keep: false, killRank: true, chaos: false, port: 0, directory: undefined };

describe('the options of the quickstart', () => {
  it.each<[string, readonly string[], object]>([
    ['kill a rank and stop at the end unless told', [], {}],
    ['leave the ranks alone', ['--no-kill'], { killRank: false }],
    ['show one of each failure', ['--chaos'], { chaos: true }],
    ['keep it running', ['--keep'], { keep: true }],
    ['choose a port', ['--port', '8080'], { port: 8080 }],
    ['choose a directory', ['--directory', 'here'], { directory: 'here' }],
    ['ask for help', ['-h'], { help: true }],
  ])('%s', (_, argv, want) => {
    expect(parseOptions(argv)).toEqual({ ...DEFAULTS, ...want });
  });

  it.each([['-1'], ['65536'], ['eighty'], ['80.5']])('refuse the port %s', (port) => {
    expect(() => parseOptions([`--port=${port}`])).toThrow(
      `--port ${port} is not a port; give a number from 1 to 65535`,
    );
  });

  it('refuse to show failures and none', () => {
    expect(() => parseOptions(['--chaos', '--no-kill'])).toThrow('contradict');
  });

  it('refuse what they do not know', () => {
    expect(() => parseOptions(['--kill'])).toThrow('--kill');
  });
});
