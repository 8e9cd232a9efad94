import { asShown, commandsIn, documentedCommands, outputOf, withOutputs } from './documented-commands.ts';

const COMMANDS = documentedCommands();
const PAGE = [
  'Words.',
  '',
  '```console',
  '$ coxswain place \\',
  '    --nodes nodes.json',
  'chosen of 8, chosen in 10 ms',
  'first',
  '…',
  '```',
  '',
  '<!-- not run: needs a cluster -->',
  '',
  '```console',
  '$ coxswain jobs',
  '```',
  '',
].join('\n');

describe('a page', () => {
  it('is read block by block, but for what it says is not run', () => {
    expect(commandsIn('page.md', PAGE)).toEqual([
      {
        page: 'page.md',
        command: 'coxswain place \\\n    --nodes nodes.json',
        shown: ['chosen of 8, chosen in 10 ms', 'first'],
        goesOn: true,
      },
    ]);
  });

  it.each([
    ['stays as it is when only the duration is another', ['chosen of 8, chosen in 25 ms', 'first', 'second'], PAGE],
    ['takes another line', ['chosen of 8, chosen in 25 ms', '1st', 'second'], PAGE.replace('\nfirst\n', '\n1st\n')],
    [
      'takes the duration with what else that line says',
      ['chosen of 9, chosen in 25 ms', 'first'],
      PAGE.replace('chosen of 8, chosen in 10 ms', 'chosen of 9, chosen in 25 ms'),
    ],
  ])('%s', (_sentence, output, want) => {
    expect(withOutputs('page.md', PAGE, [output])).toBe(want);
  });

  it('whose block begins with no command is refused by name', () => {
    expect(() => commandsIn('page.md', '```console\ncoxswain\n```\n')).toThrow('page.md: a block of the console');
  });
});

describe('what pages show', () => {
  it('is of more than five commands', () => {
    expect(COMMANDS.length).toBeGreaterThan(5);
  });

  // Where it is another: `npm run docs:commands`, and read what changed.
  it.each(COMMANDS.map((one) => [one.page, one.command.split('\n')[0], one] as const))(
    '%s: %s prints what the page shows',
    async (_page, _command, documented) => {
      expect(asShown(await outputOf(documented.command), documented)).toEqual(documented.shown);
    },
  );
});
