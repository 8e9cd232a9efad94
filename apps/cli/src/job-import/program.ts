/** Finds the program of one rank in a container's command. Launchers that start several ranks are removed: Coxswain starts each rank itself. */
import { ImportError } from './import-error.ts';
import { quotedWord, shellCommands, type ShellCommand, type ShellWord } from './shell-words.ts';
import { baseName, literal, readTorchrun, torchrunStart, type TorchrunOptions } from './torchrun.ts';

/** The program of one rank, and what its launcher's options say about the gang. */
export interface RankProgram {
  /** Program and arguments of one rank. */
  readonly words: readonly string[];
  /** The options of torchrun; undefined if the command starts as it is, once per pod. */
  readonly torchrun?: TorchrunOptions;
  /** Variables that stood before the program. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** A file of the image that is started. It may start more processes, which cannot be read from here. */
  readonly script?: string;
}

/** Launchers other than torchrun, by the first words of a command, and what to do instead. */
const OTHER_LAUNCHERS: readonly { readonly words: RegExp; readonly wayOut: string }[] = [
  {
    words: /^(?:accelerate launch|accelerate-launch)\b/,
    wayOut:
      'name the script that accelerate starts, as `torchrun … SCRIPT`: Accelerator() reads RANK, WORLD_SIZE and LOCAL_RANK; what stands in its config file, give to the script',
  },
  {
    words: /^deepspeed\b/,
    wayOut:
      'name the script that deepspeed starts, as `torchrun … SCRIPT --deepspeed …`: deepspeed.initialize() reads RANK, WORLD_SIZE and LOCAL_RANK',
  },
  {
    words: /^(?:mpirun|mpiexec|horovodrun|orterun|srun)\b/,
    wayOut:
      'name the program that it starts, and let it read RANK, WORLD_SIZE and LOCAL_RANK from its environment instead of OMPI_COMM_WORLD_* or SLURM_*',
  },
  {
    words: /^(?:ft_launcher|dlrover-run|colossalai run|composer|tune run)\b/,
    wayOut: 'name the script that it starts, as `torchrun … SCRIPT`; restarts and checks of nodes are Coxswain’s',
  },
];
const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ash']);
/** What may stand before torchrun in a script, because it may as well be done by each rank. */
const SETTLING = new Set(['cd', 'export', 'set', 'ulimit', 'umask', 'source', '.', 'echo', 'unset']);
const NAMES_TORCHRUN = /(?:^|[\s;&|/(])torchrun\b|\btorch\.distributed\.(?:run|launch)\b/;
const ASSIGNMENT = /^([A-Za-z_]\w*)=([^]*)$/;

/** The program of one rank from the words of a container; messages name them by `where`. */
export function rankProgram(words: readonly string[], where: string): RankProgram {
  const [shell = '', ...rest] = words;
  const flag = rest.findIndex((word) => !/^-[a-z]+$/.test(word) || word.endsWith('c'));
  const script = rest[flag + 1];
  if (SHELLS.has(baseName(shell)) && rest[flag]?.startsWith('-') === true && script !== undefined)
    return scriptProgram({ shell, script, all: words }, where);
  return commandProgram(words.map(literal), where);
}

/** The program of one rank out of a line as one types it, with variables before it. */
export function lineProgram(line: string): RankProgram {
  const commands = shellCommands(line);
  const [command, ...more] = commands ?? [];
  if (command === undefined || more.length > 0)
    throw new ImportError('The line must be one command, as `torchrun --nnodes 2 --nproc-per-node 8 train.py`.');
  const replaced = command.words.find(({ isLiteral }) => !isLiteral);
  if (replaced !== undefined)
    throw new ImportError(`${replaced.raw} stands for what a shell makes of it; write what it stands for.`);
  const { env, words } = withoutAssignments(command.words);
  return { ...commandProgram(words, 'the line'), env };
}

function commandProgram(words: readonly ShellWord[], where: string): RankProgram {
  refuseOtherLaunchers(words.map(({ text }) => text).join(' '), where);
  const start = torchrunStart(words);
  if (start !== undefined) {
    const { options, program } = readTorchrun(start.rest, start.python);
    return { words: program.map(({ text }) => text), torchrun: options, env: [] };
  }
  const hidden = words.findIndex(
    ({ text }) => baseName(text) === 'torchrun' || /^torch\.distributed\.(?:run|launch)$/.test(text),
  );
  if (hidden >= 0)
    throw new ImportError(
      `${where} starts torchrun by ${words[0]?.text ?? ''}, and Coxswain starts each rank itself. Begin with torchrun, and let the image have what ${words[0]?.text ?? ''} does.`,
    );
  const script = words.map(({ text }) => text).find((word) => /\.(?:sh|bash)$/.test(word));
  return { words: words.map(({ text }) => text), env: [], ...(script === undefined ? {} : { script }) };
}

interface Script {
  readonly shell: string;
  readonly script: string;
  readonly all: readonly string[];
}

function scriptProgram({ shell, script, all }: Script, where: string): RankProgram {
  const commands = shellCommands(script);
  for (const { words } of commands ?? []) refuseOtherLaunchers(words.map(({ text }) => text).join(' '), where);
  if (!NAMES_TORCHRUN.test(script)) return { words: all, env: [] };
  const last = commands?.at(-1);
  const before = commands?.slice(0, -1) ?? [];
  const { env, words } = withoutAssignments(withoutExec(last?.words ?? []));
  const start = torchrunStart(words);
  const other = before.find((command) => !isSettling(command));
  if (start === undefined || other !== undefined || last?.joinedBy === '|')
    throw new ImportError(
      `${where} is a script that does more than start torchrun${other === undefined ? '' : ` ("${firstWords(other)}")`}; every rank would do it, in the same pod at the same time. Do it in the image, or make the last command torchrun and the others cd, export or set; coxswain logs keeps what is written, so tee is not needed.`,
    );
  const { options, program } = readTorchrun(start.rest, start.python);
  if (before.length === 0 && program.every(({ isLiteral }) => isLiteral))
    return { words: program.map(({ text }) => text), torchrun: options, env };
  const settling = before.map(({ words: one, joinedBy }) => `${joinedBy === '' ? '' : `${joinedBy} `}${rawOf(one)}`);
  const joint = settling.length === 0 ? '' : ` ${last?.joinedBy ?? '&&'} `;
  return { words: [shell, '-c', `${settling.join(' ')}${joint}exec ${rawOf(program)}`], torchrun: options, env };
}

function isSettling({ words: [first], joinedBy }: ShellCommand): boolean {
  const isJoined = ['', '&&', ';', '\n'].includes(joinedBy);
  return isJoined && first !== undefined && (SETTLING.has(first.text) || ASSIGNMENT.test(first.text));
}

function withoutExec(words: readonly ShellWord[]): readonly ShellWord[] {
  return words[0]?.text === 'exec' ? words.slice(1) : words;
}

/** Variables that stand before a command, and the command. */
function withoutAssignments(words: readonly ShellWord[]): Pick<RankProgram, 'env'> & { words: readonly ShellWord[] } {
  const end = words.findIndex((word) => !(word.isLiteral && ASSIGNMENT.test(word.text)));
  const env = words.slice(0, Math.max(0, end)).map(({ text }) => {
    const [, name = '', value = ''] = ASSIGNMENT.exec(text) ?? [];
    return { name, value };
  });
  return { env, words: words.slice(Math.max(0, end)) };
}

function refuseOtherLaunchers(command: string, where: string): void {
  const bare = command
    .replace(/^\S*\//, '')
    .replace(/^python[0-9.]* -m accelerate\.commands\.launch\b/, 'accelerate launch');
  const found = OTHER_LAUNCHERS.find(({ words }) => words.test(bare));
  if (found === undefined) return;
  const [launcher = ''] = found.words.exec(bare) ?? [];
  throw new ImportError(
    `${where} starts its ranks with ${launcher}, and Coxswain starts each rank itself: ${found.wayOut}.`,
  );
}

/** Words of a script stay as written: the shell still expands them. */
function rawOf(words: readonly ShellWord[]): string {
  return words.map(({ raw, isLiteral, text }) => (isLiteral && raw === text ? quotedWord(text) : raw)).join(' ');
}

function firstWords({ words }: ShellCommand): string {
  return words
    .slice(0, 2)
    .map(({ raw }) => raw)
    .join(' ')
    .slice(0, 80);
}
