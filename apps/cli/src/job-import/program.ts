/** Finds the program of one rank in a container's command. Launchers that start several ranks are removed: Coxswain starts each rank itself. */
import { isRendezvous } from './environment.ts';
import { ImportError } from './import-error.ts';
import { launchOfScript, shellOfPod, type ScriptLaunch } from './script-launch.ts';
import { readLauncher, type Launched } from './launchers.ts';
import type { ProgramNote } from './program-note.ts';
import { shellText } from './shell-script.ts';
import { quotedWord, shellCommands, type ShellCommand, type ShellWord } from './shell-words.ts';
import { baseName, literal, readTorchrun, torchrunStart, type TorchrunOptions } from './torchrun.ts';

/** The program of one rank, and what its launcher's options say about the gang. */
export interface RankProgram {
  /** Program and arguments of one rank. */
  readonly words: readonly string[];
  /** The options of the launcher; undefined if the command starts as it is, once per pod. */
  readonly launcher?: TorchrunOptions & { readonly starter: string };
  /** Variables that stood before the program, or that its launcher would have set. */
  readonly env: readonly { readonly name: string; readonly value: string }[];
  /** A file of the image that is started. It may start more processes, which cannot be read from here. */
  readonly script?: string;
  /** Of a launcher that starts containers. */
  readonly image?: string;
  readonly directory?: string;
  readonly notes: readonly ProgramNote[];
}

/** Launchers whose work is not a list of equal ranks, by the first words of a command, and what to do instead. */
const OTHER_LAUNCHERS: readonly { readonly words: RegExp; readonly wayOut: string }[] = [
  {
    words: /^(?:ft_launcher|dlrover-run|colossalai run|tune run)\b/,
    wayOut: 'name the script that it starts, as `torchrun … SCRIPT`; restarts and checks of nodes are Coxswain’s',
  },
  {
    words: /^ray (?:start|job|submit)\b/,
    wayOut:
      'Ray places and starts its actors itself; where the script is one of torch.distributed, name it as `torchrun … SCRIPT`',
  },
];
const SHELLS = new Set(['sh', 'bash', 'dash', 'zsh', 'ash']);
/** What may stand before torchrun in a script, because it may as well be done by each rank. */
const SETTLING = new Set(['cd', 'export', 'set', 'ulimit', 'umask', 'source', '.', 'echo', 'unset']);
const NAMES_LAUNCHER =
  /(?:^|[\s;&|/("'])(?:torchrun|deepspeed|mpirun|mpiexec|srun|accelerate\s+launch)\b|\btorch\.distributed\.(?:run|launch)\b|\$\{?(?:LAUNCHER|CMD|TORCHRUN)/;
const ASSIGNMENT = /^([A-Za-z_]\w*)=([^]*)$/;
const MAX_LAUNCHERS = 8;

/** The program of one rank from the words of a container; messages name them by `where`. `known` are variables of the container. */
export function rankProgram(
  words: readonly string[],
  where: string,
  known: ReadonlyMap<string, string> = new Map(),
): RankProgram {
  const script = scriptIn(words);
  if (script !== undefined) return scriptProgram({ ...script, all: words, known }, where);
  return commandProgram(words.map(literal), where, known);
}

/** The script of `bash -c SCRIPT`. */
function scriptIn(words: readonly string[]): { readonly shell: string; readonly script: string } | undefined {
  const [shell = '', ...rest] = words;
  const flag = rest.findIndex((word) => !/^-[a-z]+$/.test(word) || word.endsWith('c'));
  const script = rest[flag + 1];
  const isScript = SHELLS.has(baseName(shell)) && rest[flag]?.startsWith('-') === true && script !== undefined;
  return isScript ? { shell, script } : undefined;
}

/** The program of one rank out of a line as one types it, with variables before it. */
export function lineProgram(line: string): RankProgram {
  const commands = shellCommands(line);
  const [command, ...more] = commands ?? [];
  if (command === undefined || more.length > 0)
    throw new ImportError('The line must be one command, as `torchrun --nnodes 2 --nproc-per-node 8 train.py`.');
  const { env, words } = withoutAssignments(command.words);
  const program = commandProgram(words, 'the line', new Map(env.map(({ name, value }) => [name, value])));
  const { nodes, processesPerNode, maxRestarts } = program.launcher ?? { ignored: [] };
  const replaced = [nodes, processesPerNode, maxRestarts].find((word) => word?.isLiteral === false);
  const left = program.words.find(
    (word) => /\$/.test(word) && words.some(({ text, isLiteral }) => text === word && !isLiteral),
  );
  if (replaced !== undefined || left !== undefined)
    throw new ImportError(
      `${replaced?.raw ?? left ?? ''} stands for what a shell makes of it; write what it stands for.`,
    );
  return { ...program, env: [...env, ...program.env] };
}

/** The program of a script of its own, such as a batch script of Slurm. */
export function programOfScript(script: string, known: ReadonlyMap<string, string>, where: string): RankProgram {
  const launch = launchOfScript(script, known);
  if (launch === undefined)
    throw new ImportError(
      `${where} starts no program that is known here: torchrun, python, srun, accelerate launch, deepspeed or mpirun. Give the line that starts the program to --torchrun.`,
    );
  return launchedProgram(launch, where, known);
}

interface Peeled {
  readonly words: readonly ShellWord[];
  readonly launched: readonly Launched[];
}

/** What one launcher starts, which may be another one. */
function peeled(words: readonly ShellWord[]): Peeled {
  const launched: Launched[] = [];
  let rest = words;
  while (launched.length < MAX_LAUNCHERS) {
    const found = readLauncher(rest);
    if (found === undefined) break;
    launched.push(found);
    rest = found.program;
  }
  return { words: rest, launched };
}

function commandProgram(all: readonly ShellWord[], where: string, known: ReadonlyMap<string, string>): RankProgram {
  const { words, launched } = peeled(all);
  if (words.length === 0 && launched.length > 0)
    throw new ImportError(
      `${launched.at(-1)?.starter ?? ''} is given no program to start; write it behind the options.`,
    );
  const inner = launched.length === 0 ? undefined : scriptIn(words.map(({ text }) => text));
  if (inner !== undefined) {
    const program = rankProgram(
      words.map(({ text }) => shellText(text)),
      where,
      known,
    );
    return withLaunchers(program, launched);
  }
  return withLaunchers(plainProgram(words, where), launched);
}

function plainProgram(words: readonly ShellWord[], where: string): RankProgram {
  refuseOtherLaunchers(words.map(({ text }) => text).join(' '), where);
  const start = torchrunStart(words);
  if (start !== undefined) {
    const { options, program } = readTorchrun(start.rest, start.python);
    const { words: rank, launched } = peeled(program);
    const kept = launched.some(({ starter }) => starter !== 'env') ? program : rank;
    return {
      words: kept.map(({ text }) => text),
      launcher: { ...options, starter: 'torchrun' },
      env: [],
      notes: [],
    };
  }
  const hidden = words.findIndex(
    ({ text }, index) =>
      index > 0 &&
      (baseName(text) === 'torchrun' ||
        /^torch\.distributed\.(?:run|launch)$/.test(text) ||
        (baseName(text) === 'accelerate' && words[index + 1]?.text === 'launch')),
  );
  if (hidden > 0 && isRunner(words[0]?.text ?? '')) return behindRunner(words, hidden, where);
  if (hidden >= 0)
    throw new ImportError(
      `${where} starts torchrun by ${words[0]?.text ?? ''}, and Coxswain starts each rank itself. Begin with torchrun, and let the image have what ${words[0]?.text ?? ''} does.`,
    );
  const script = words.map(({ text }) => text).find((word) => /\.(?:sh|bash)$/.test(word));
  return { words: words.map(({ text }) => text), env: [], notes: [], ...(script === undefined ? {} : { script }) };
}

/** Programs that only choose an environment: what they run may be one rank as well. */
function isRunner(word: string): boolean {
  return /^(?:uv|poetry|pipenv|conda|micromamba|mamba|pixi|hatch|nsys)$/.test(baseName(word));
}

function behindRunner(words: readonly ShellWord[], hidden: number, where: string): RankProgram {
  const isModule = /^torch\./.test(words[hidden]?.text ?? '');
  const from = isModule ? Math.max(1, hidden - 2) : hidden;
  const program = commandProgram(words.slice(from), where, new Map());
  return { ...program, words: [...words.slice(0, from).map(({ text }) => text), ...program.words] };
}

/** The launcher next to the program knows its ranks best; of the others only the number of nodes counts. */
function withLaunchers(program: RankProgram, launched: readonly Launched[]): RankProgram {
  if (launched.length === 0) return program;
  let result = program;
  for (const outer of launched.toReversed()) {
    const { ignored, ...options } = outer.options;
    const isStarter =
      Object.keys(options).length > 0 ||
      !/^(?:numactl|nice|time|exec|nohup|env|singularity|apptainer|enroot|docker|podman)$/.test(outer.starter);
    const inner = result.launcher;
    const merged =
      inner === undefined
        ? isStarter
          ? { ...outer.options, starter: outer.starter }
          : undefined
        : {
            ...inner,
            ...(inner.nodes === undefined && options.nodes !== undefined ? { nodes: options.nodes } : {}),
            ignored: [...inner.ignored, ...ignored],
          };
    result = {
      ...result,
      ...(merged === undefined ? {} : { launcher: merged }),
      env: [...outer.env, ...result.env],
      notes: [...result.notes, ...outer.todos],
      ...(outer.image === undefined ? {} : { image: outer.image }),
      ...(outer.directory === undefined ? {} : { directory: outer.directory }),
    };
  }
  return result;
}

interface Script {
  readonly shell: string;
  readonly script: string;
  readonly all: readonly string[];
  readonly known: ReadonlyMap<string, string>;
}

function scriptProgram({ shell, script, all, known }: Script, where: string): RankProgram {
  const commands = shellCommands(script);
  for (const { words } of commands ?? []) refuseOtherLaunchers(words.map(({ text }) => text).join(' '), where);
  if (!NAMES_LAUNCHER.test(script)) return { words: all, env: [], notes: [] };
  const last = commands?.at(-1);
  const before = (commands?.slice(0, -1) ?? []).filter((command) => !setsRendezvous(command));
  const { env, words } = withoutAssignments(withoutExec(last?.words ?? []));
  const start = torchrunStart(words);
  const other = before.find((command) => !isSettling(command));
  if (start === undefined || other !== undefined || last?.joinedBy === '|' || assigns(before)) {
    const launch = launchOfScript(script, known);
    if (launch === undefined)
      throw new ImportError(
        `${where} is a script that starts its launcher in a loop or in a form that is not read here. Write the one command that starts the ranks, as \`torchrun … SCRIPT\`, and do the rest in the image.`,
      );
    return launchedProgram(launch, where, known);
  }
  const { options, program } = readTorchrun(start.rest, start.python);
  const launcher = { ...options, starter: 'torchrun' };
  const notes = (commands ?? []).filter(setsRendezvous).map((command): ProgramNote => ({
    from: command.words.map(({ raw }) => raw).join(' '),
    why: 'Coxswain sets it for each rank, and a value of the script would be wrong',
  }));
  if (before.length === 0 && program.every(({ isLiteral }) => isLiteral))
    return { words: program.map(({ text }) => text), launcher, env, notes };
  const settling = before.map(
    ({ words: one, joinedBy }, index) => `${joinedBy === '' || index === 0 ? '' : `${joinedBy} `}${rawOf(one)}`,
  );
  const joint = settling.length === 0 ? '' : ` ${last?.joinedBy ?? '&&'} `;
  return { words: [shell, '-c', `${settling.join(' ')}${joint}exec ${rawOf(program)}`], launcher, env, notes };
}

/** Assignments without export are variables of the shell, often degrees: then the script is read with its variables replaced. */
function assigns(before: readonly ShellCommand[]): boolean {
  return before.some(({ words: [first] }) => first !== undefined && ASSIGNMENT.test(first.text));
}

function setsRendezvous({ words: [first, ...rest] }: ShellCommand): boolean {
  const assigned = first?.text === 'export' ? rest : first === undefined ? [] : [first];
  return (
    assigned.length > 0 &&
    assigned.every(
      ({ text }) =>
        isRendezvous(ASSIGNMENT.exec(text)?.[1] ?? text) && (ASSIGNMENT.test(text) || first?.text === 'export'),
    )
  );
}

/** The launch that a script comes down to, with what the script did besides among the notes. */
function launchedProgram(launch: ScriptLaunch, where: string, known: ReadonlyMap<string, string>): RankProgram {
  const program = commandProgram(launch.words, where, new Map([...known, ...launch.variables]));
  const env = [...launch.env, ...program.env].filter(({ name }) => !isRendezvous(name));
  const { directory: ofProgram, ...rest } = program;
  const given = ofProgram ?? launch.directory;
  const isKnown = given === undefined || shellText(given) === given;
  const directory = isKnown ? given : undefined;
  const inner = scriptIn(program.words);
  const ofShell = inner === undefined ? undefined : shellOfPod(inner.script, env);
  const words =
    ofShell === undefined
      ? program.words
      : program.words.map((word) => (word === inner?.script ? ofShell.script : word));
  const notes = [...launch.notes, ...program.notes, ...launch.notesOf(program.words), ...(ofShell?.notes ?? [])];
  return {
    ...rest,
    ...(program.launcher === undefined
      ? {}
      : {
          launcher: {
            ...program.launcher,
            ignored: program.launcher.ignored.map((one) => ({ ...one, option: shellText(one.option) })),
          },
        }),
    words: launch.asCommand(words),
    env,
    notes: [
      ...notes.map((note) => ({ ...note, from: shellText(note.from) })),
      ...(isKnown ? [] : [unknownDirectory(shellText(given))]),
    ],
    ...(directory === undefined ? {} : { directory }),
  };
}

function unknownDirectory(directory: string): ProgramNote {
  return {
    from: `working directory ${directory}`,
    why: 'the script does not say which directory this is, so the program starts in the directory of its image',
    todo: 'see that paths in engine.command are complete, or let the image have that directory',
  };
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
  const bare = command.replace(/^\S*\//, '');
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
