import { Command } from 'commander';
import { COMMAND_GROUPS, firstWord, loadCommands } from './commands.ts';
import { FAMILIAR_WORDS, insteadOf } from './familiar-words.ts';
import type { Session } from './session/session.ts';

const modules = COMMAND_GROUPS.flatMap((group) => group.modules);
const GLOBAL = new Set(['-o', '--server']);

/** Commands add themselves without a look at the session. */
const NO_SESSION = {} as Session;

it.each(modules.map((module) => [module.names.join(', '), module] as const))(
  'the module of %s adds these commands and no other',
  async (_names, { names, load }) => {
    const program = new Command();
    (await load())(program, NO_SESSION);
    expect(program.commands.flatMap((command) => [command.name(), ...command.aliases()]).sort()).toEqual(
      [...names].sort(),
    );
  },
);

it('words of other systems are no commands, and name commands that exist', () => {
  const names = modules.flatMap((module) => module.names);
  expect(FAMILIAR_WORDS.filter((word) => names.includes(word))).toEqual([]);
  const named = FAMILIAR_WORDS.flatMap((word) => [...(insteadOf(word) ?? '').matchAll(/coxswain (\w+)/g)]);
  expect(named.map(([, name = '']) => name).filter((name) => !names.includes(name))).toEqual([]);
});

it.each<[string, string | undefined, number]>([
  ['a known command loads its module alone', 'queue', 1],
  [
    'a word that is not known loads all, for the one that was meant',
    'quue',
    modules.flatMap(({ names }) => names).length - 1,
  ],
])('%s', async (_sentence, command, want) => {
  const program = (await loadCommands(command))(new Command(), NO_SESSION);
  expect(program.commands).toHaveLength(want);
});

it.each<[string, string, string | undefined]>([
  ['the first word', 'get tiny-gpt', 'get'],
  ['the word after options', '--server http://x -o json get', 'get'],
  ['the word after an option with its value in one', '--server=http://x list', 'list'],
  ['nothing for help', '--help', undefined],
])('the command of a line is %s', (_sentence, line, want) => {
  expect(firstWord(line.split(' '), GLOBAL)).toBe(want);
});
