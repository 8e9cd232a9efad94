/** The command of a script that starts the ranks, with what the script does besides. */
import { isRendezvous } from './environment.ts';
import { replacementOf } from './old-variables.ts';
import type { ProgramNote } from './program-note.ts';
import {
  readScript,
  shellText,
  textOf,
  UNKNOWN,
  unknownsIn,
  type ReadScript,
  type ScriptCommand,
} from './shell-script.ts';
import { quotedWord, type ShellWord } from './shell-words.ts';
import { baseName } from './torchrun.ts';

/** What a script comes down to. */
export interface ScriptLaunch {
  readonly words: readonly ShellWord[];
  readonly env: readonly { readonly name: string; readonly value: string }[];
  readonly directory?: string;
  readonly notes: readonly ProgramNote[];
  readonly variables: ReadonlyMap<string, string>;
  /** The words of a command; a shell that replaces what only the pod knows goes before them where there is any. */
  readonly asCommand: (words: readonly string[]) => readonly string[];
  /** Lines about what only the running shell knows in these words. */
  readonly notesOf: (words: readonly string[]) => readonly ProgramNote[];
}

const LAUNCHERS =
  /^(?:torchrun|deepspeed|mpirun|mpiexec|mpiexec\.hydra|orterun|horovodrun|srun|accelerate-launch|composer|ft_launcher|dlrover-run)$/;
const CONTAINERS = /^(?:singularity|apptainer|enroot|docker|podman)$/;
const WRAPPERS = /^(?:exec|env|numactl|nice|time|nohup|uv|poetry|pipenv|conda|micromamba|nsys)$/;
/** Commands that print, wait, or prepare a shell that pods do not have. */
const WITHOUT_EFFECT =
  /^(?:echo|printf|set|wait|date|sleep|trap|hostname|nvidia-smi|true|:|env|unset|shopt|umask|exit|return|shift|scontrol|sinfo|squeue|sacct|sstat|read|kill|local|getopts|break|continue)$/;
const OF_THE_IMAGE =
  /^(?:module|ml|source|\.|conda|mamba|micromamba|activate|spack|pip|pip3|uv|apt|apt-get|yum|dnf|git)$/;

/** The launch in a script; undefined if it has none, or if it stands in a loop. */
export function launchOfScript(script: string, known: ReadonlyMap<string, string>): ScriptLaunch | undefined {
  const read = readSubmitted(script, known);
  const launches = read.commands.filter(isLaunch);
  const starters = launches.filter(startsRanks);
  const launch = starters.findLast(startsTraining) ?? starters.at(-1) ?? launches.at(-1);
  if (launch === undefined || launch.within === 'loop') return undefined;
  const others = starters.filter((one) => one !== launch);
  const before = read.commands.slice(0, read.commands.indexOf(launch)).filter((one) => !others.includes(one));
  const exported = [...read.exported].flatMap((name) => {
    const value = read.variables.get(name);
    return value === undefined || known.has(name) ? [] : [{ name, value: textOf(value) }];
  });
  const env = [...exported, ...launch.env].filter(({ name }) => !isRendezvous(name));
  const directory = before.findLast(({ words, within }) => words[0] === 'cd' && within === 'script')?.words[1];
  return {
    words: launch.words.map((text) => ({ text, raw: text, isLiteral: !text.includes(UNKNOWN) })),
    env: env.filter(({ value }) => !value.includes(UNKNOWN)),
    ...(directory === undefined || directory.includes(UNKNOWN) ? {} : { directory }),
    notes: [
      ...rendezvousNotes(exported),
      ...env.flatMap(({ name, value }) =>
        value.includes(UNKNOWN) && !OF_A_LAUNCH.test(value) ? [unknownVariable(name, value)] : [],
      ),
      ...before.flatMap((command) => noteOf(command)),
      ...others.map(otherLaunchNote),
      ...read.conditional.filter((written) => !isRendezvous(written.replace(/\W.*$/s, ''))).map(conditionalNote),
    ],
    notesOf: unknownNotes,
    variables: new Map([...read.variables].map(([name, value]) => [name, textOf(value)])),
    asCommand: (words) => shellCommand(words),
  };
}

/** The script, with what it gives to sbatch in a here-document as its last commands. */
function readSubmitted(script: string, known: ReadonlyMap<string, string>): ReadScript {
  const read = readScript(script, known);
  const submitted = read.commands.find(
    ({ words: [first = ''], hereDocument }) => hereDocument !== undefined && baseName(first) === 'sbatch',
  );
  if (submitted === undefined) return read;
  // The shell that submits replaces variables, and `\\$` is for the shell that runs.
  const inner = readScript((submitted.hereDocument ?? '').replaceAll(String.raw`\$`, '$'), read.variables);
  return {
    commands: [...read.commands.filter((one) => one !== submitted), ...inner.commands],
    variables: inner.variables,
    exported: new Set([...read.exported, ...inner.exported]),
    conditional: [...read.conditional, ...inner.conditional],
  };
}

/** Whether a launcher of ranks stands in it: of several commands for srun that one trains, and the others serve or prepare. */
function startsTraining({ words }: ScriptCommand): boolean {
  return /\b(?:torchrun|accelerate[ -]launch|deepspeed|composer|torch\.distributed\.(?:run|launch))\b/.test(
    words.join(' '),
  );
}

function otherLaunchNote({ words }: ScriptCommand): ProgramNote {
  return {
    from: shellText(words.join(' ')).replaceAll(/\s+/g, ' ').slice(0, 160),
    why: 'the script starts this program too, and a job is one program',
    todo: 'where it is needed, import it as a job of its own, with its line as --torchrun',
  };
}

function isLaunch({ words }: ScriptCommand): boolean {
  const [first = '', second = ''] = words;
  const base = baseName(shellText(first));
  if (startsRanks({ words })) return true;
  if (/^python[0-9.]*$/.test(base)) return words.length > 1 && second !== '-c';
  return CONTAINERS.test(base) && /^(?:exec|run|start)$/.test(second);
}

function startsRanks({ words }: Pick<ScriptCommand, 'words'>): boolean {
  const [first = '', second = '', third = ''] = words;
  const base = baseName(shellText(first));
  if (LAUNCHERS.test(base)) return !/^(?:hostname|echo|mkdir|date|nvidia-smi|rm|cp)$/.test(programWord(words));
  if (base === 'accelerate') return second === 'launch';
  if (/^python[0-9.]*$/.test(base))
    return /^-\w*m$/.test(second) && /^(?:torch\.distributed\.|accelerate\.)/.test(third);
  return (
    WRAPPERS.test(base) &&
    words.slice(1).some((word) => LAUNCHERS.test(baseName(word)) || /^torch\.distributed\./.test(word))
  );
}

/** The first word behind the options that names a program: `srun -N1 hostname` prepares and does not train. */
function programWord(words: readonly string[]): string {
  return (
    words
      .slice(1)
      .find((word) => /^(?:hostname|echo|mkdir|date|nvidia-smi|rm|cp|bash|sh|python[0-9.]*|torchrun)$/.test(word)) ?? ''
  );
}

/** A variable that holds the launcher's line is for the script alone. */
const OF_A_LAUNCH =
  /\b(?:torchrun|accelerate launch|deepspeed|srun|mpirun|torch\.distributed\.run)\b|--?(?:nnodes|master_addr|rdzv)/;

function conditionalNote(written: string): ProgramNote {
  const isAppended = /^\w+\+=/.test(written);
  return {
    from: written,
    why: `the script does it in a condition or a loop; ${isAppended ? 'import leaves it out' : 'import takes it where nothing else sets the variable'}`,
    todo: 'see that engine.command and layout have what this run needs',
  };
}

function rendezvousNotes(exported: readonly { readonly name: string }[]): readonly ProgramNote[] {
  return exported
    .filter(({ name }) => isRendezvous(name))
    .map(({ name }) => ({ from: `export ${name}`, why: `Coxswain sets ${name} for each rank, from its own layout` }));
}

function unknownVariable(name: string, value: string): ProgramNote {
  return {
    from: `export ${name}=${shellText(value).slice(0, 200)}`,
    why: 'its value depends on the node or the shell that runs the script',
    todo: `set ${name} in engine.env, if the program needs it`,
  };
}

function noteOf({ words, hereDocument, joinedBy }: ScriptCommand): readonly ProgramNote[] {
  const [first = ''] = words;
  const base = baseName(shellText(first));
  const from = shellText(words.slice(0, 6).join(' ')).slice(0, 160);
  if (hereDocument !== undefined)
    return [
      {
        from: `${from} << (${hereDocument.split('\n').length} lines)`,
        why: 'the script writes this file on the node, and a job runs its program alone',
        todo: 'put the file into the image or into a claim, and correct its path in engine.command',
      },
    ];
  if (base === 'cd')
    return [
      { from, why: 'ranks start in the directory that coxswain submit --workdir ships, or else in that of the image' },
    ];
  if (joinedBy === '|' || joinedBy === '(' || WITHOUT_EFFECT.test(base) || base === '') return [];
  if (base === 'ulimit') return [{ from, why: 'pods have the limits of their node’s container runtime' }];
  const isOfImage = OF_THE_IMAGE.test(base);
  return [
    {
      from,
      why: isOfImage ? 'pods begin with what their image has' : 'a job runs its program alone, and nothing before it',
      todo: isOfImage
        ? 'see that the image has it'
        : 'do it in the image, or in a Job before this one, if it is needed',
    },
  ];
}

/** Variables and commands in the program's own words that only the running shell knows. */
function unknownNotes(words: readonly string[]): readonly ProgramNote[] {
  return [...new Set(words.flatMap(unknownsIn))].flatMap(unknownNote);
}

function unknownNote(name: string): readonly ProgramNote[] {
  const instead = replacementOf(name);
  if (isRendezvous(name)) return [];
  if (instead !== undefined && /^[A-Z_]+$/.test(instead))
    return [
      {
        from: `$${name}`,
        why: `in the words of the program it is $${instead} now, which Coxswain sets for each rank`,
      },
    ];
  return [
    {
      from: name.startsWith('$') ? name.slice(0, 120) : `$${name}`,
      why: 'the script does not set it, so its value is not known here',
      todo: name.startsWith('$')
        ? 'every rank would run this command in its pod; write what it stands for into engine.command'
        : `write its value into engine.command${/^\d/.test(name) ? '' : `, or set ${name} in engine.env`}`,
    },
  ];
}

const SHELL_VARIABLE = /\$(?:([A-Za-z_]\w*)|\{([A-Za-z_]\w*)\})/g;
const OF_EVERY_SHELL = ['HOME', 'PATH', 'PWD', 'HOSTNAME', 'RANDOM', 'SECONDS', 'UID', 'PYTHONPATH', 'LD_LIBRARY_PATH'];

/** A script that the program's own shell runs, with variables of the old launcher replaced, and lines about variables that nothing sets in a pod. */
export function shellOfPod(
  script: string,
  env: readonly { readonly name: string }[],
): { readonly script: string; readonly notes: readonly ProgramNote[] } {
  const replaced = script.replaceAll(SHELL_VARIABLE, (whole, plain?: string, braced?: string) => {
    const name = plain ?? braced ?? '';
    const instead = replacementOf(name);
    return instead !== undefined && /^[A-Z_]+$/.test(instead) ? whole.replace(name, instead) : whole;
  });
  const set = new Set([...env.map(({ name }) => name), ...OF_EVERY_SHELL]);
  const expanded = script.replaceAll(/'[^']*'/g, '');
  const names = [...expanded.matchAll(SHELL_VARIABLE)].map(([, plain, braced]) => plain ?? braced ?? '');
  const left = [...new Set(names)].filter((name) => {
    const isSet = new RegExp(String.raw`\b${name}=|\b(?:for|read)\s+${name}\b`).test(script);
    return !isSet && !set.has(name) && !name.startsWith('COXSWAIN_');
  });
  return { script: replaced, notes: left.flatMap(unknownNote) };
}

/** The words as a command; with a shell before them where a variable is left in one. */
function shellCommand(words: readonly string[]): readonly string[] {
  if (words.every((word) => !word.includes(UNKNOWN))) return words;
  const quoted = words.map((word) => (word.includes(UNKNOWN) ? doubleQuoted(word) : quotedWord(word)));
  return ['bash', '-c', `exec ${quoted.join(' ')}`];
}

/** A command that the shell runs is a script of its own, and keeps its characters. */
const RUN = new RegExp(`(${UNKNOWN}\\((?:[^()]|\\((?:[^()]|\\([^()]*\\))*\\))*\\))`);

function doubleQuoted(word: string): string {
  const escaped = word
    .split(RUN)
    .map((part) => (RUN.test(part) ? part : part.replaceAll(/(["\\`$])/g, String.raw`\$1`)))
    .join('');
  const renamed = escaped.replaceAll(new RegExp(`${UNKNOWN}(\\w+)`, 'g'), (whole, name: string) => {
    const instead = replacementOf(name);
    return instead !== undefined && /^[A-Z_]+$/.test(instead) ? `${UNKNOWN}${instead}` : whole;
  });
  return `"${shellText(renamed)}"`;
}
