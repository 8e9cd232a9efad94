/** Parses a torchrun command line: its options, and the program that it starts once per rank. */
import { ImportError } from './import-error.ts';
import type { ShellWord } from './shell-words.ts';

/** The options of torchrun. */
export interface TorchrunOptions {
  /** As written: `2`, `1:4`, or what a shell would replace. */
  readonly nodes?: ShellWord;
  /** As written: a number, `auto`, `gpu`, `cpu`. */
  readonly processesPerNode?: ShellWord;
  /** Processes in all, as accelerate and mpirun are given them. */
  readonly processes?: ShellWord;
  readonly maxRestarts?: ShellWord;
  /** Options that mean nothing to a job, as written, with why. */
  readonly ignored: readonly { readonly option: string; readonly why: string }[];
}

/** Options of torchrun, apart from the program that it starts. */
export interface Torchrun {
  readonly options: TorchrunOptions;
  /** What one rank is. */
  readonly program: readonly ShellWord[];
}

const RENDEZVOUS = 'Coxswain sets the rendezvous address of the ranks';
const LOGS = 'Coxswain keeps what every rank writes: coxswain logs JOB --rank N';
const AGENT = 'there is no agent of torchrun; Coxswain starts and watches the ranks itself';

/** Options of `torch.distributed.run` (PyTorch 2.x), in their long form with hyphens, that take a value; why one that has no field is left out. */
const VALUED: Readonly<Record<string, 'nodes' | 'processesPerNode' | 'maxRestarts' | { readonly why: string }>> = {
  '--nnodes': 'nodes',
  '--nproc-per-node': 'processesPerNode',
  '--max-restarts': 'maxRestarts',
  '--rdzv-backend': { why: RENDEZVOUS },
  '--rdzv-endpoint': { why: RENDEZVOUS },
  '--rdzv-id': { why: RENDEZVOUS },
  '--rdzv-conf': { why: RENDEZVOUS },
  '--node-rank': { why: RENDEZVOUS },
  '--master-addr': { why: RENDEZVOUS },
  '--master-port': { why: RENDEZVOUS },
  '--local-addr': { why: RENDEZVOUS },
  '--log-dir': { why: LOGS },
  '--redirects': { why: LOGS },
  '--tee': { why: LOGS },
  '--local-ranks-filter': { why: LOGS },
  '--logs-specs': { why: LOGS },
  '--monitor-interval': { why: AGENT },
  '--start-method': { why: AGENT },
  '--event-log-handler': { why: AGENT },
  '--role': { why: AGENT },
  '--signals-to-handle': { why: AGENT },
  '--shutdown-timeout': { why: `${AGENT}; terminationGracePeriodSeconds is the time that a job has to save` },
  '--numa-binding': { why: 'ranks are not bound to the processors near their GPU; the program can do it itself' },
};
/** Options without a value. */
const SWITCHES: Readonly<Record<string, { readonly why: string }>> = {
  '--standalone': { why: RENDEZVOUS },
  '--use-env': { why: 'LOCAL_RANK stands in the environment, always' },
  '--virtual-local-rank': { why: 'LOCAL_RANK counts the ranks of a pod, and every rank sees all GPUs of its pod' },
};
/** Options without a value that decide how the program is started. */
const FORMS = new Set(['--module', '--no-python', '--run-path']);
const SHORT: Readonly<Record<string, string>> = { '-m': '--module', '-r': '--redirects', '-t': '--tee' };

/** Where the words of a command begin to be options of torchrun, and by which Python it starts the program; undefined where torchrun is not called. */
export function torchrunStart(
  words: readonly ShellWord[],
): { readonly rest: readonly ShellWord[]; readonly python: string } | undefined {
  const [first, ...rest] = words.map(({ text }) => text);
  if (first === undefined) return undefined;
  if (/^(?:torchrun|hyperpodrun)$/.test(baseName(first))) return { rest: words.slice(1), python: 'python3' };
  if (!/^python[0-9.]*$/.test(baseName(first))) return undefined;
  const flag = rest.findIndex((word) => !/^-[uBEsSOIqb]+$/.test(word));
  const isRun = rest[flag] === '-m' && /^torch\.distributed\.(?:run|launch)$/.test(rest[flag + 1] ?? '');
  return isRun ? { rest: words.slice(flag + 3), python: first } : undefined;
}

/** Reads the words behind `torchrun`. Throws an {@link ImportError} that names the option it does not know. */
export function readTorchrun(words: readonly ShellWord[], python: string): Torchrun {
  const options: { [Key in 'nodes' | 'processesPerNode' | 'maxRestarts']?: ShellWord } = {};
  const ignored: { option: string; why: string }[] = [];
  const forms = new Set<string>();
  let position = 0;
  for (; words[position]?.text.startsWith('-') === true; position += 1) {
    const option = readOption(words, position);
    if (option.name === '--') {
      position += 1;
      break;
    }
    if (FORMS.has(option.name)) forms.add(option.name);
    else if (typeof option.meaning === 'string') options[option.meaning] = option.value;
    else ignored.push({ option: option.written, why: option.meaning.why });
    position = option.last;
  }
  const [script, ...args] = words.slice(position);
  if (script === undefined)
    throw new ImportError('torchrun is given no program to start; write it behind the options.');
  return { options: { ...options, ignored }, program: [...startOf(script, forms, python), ...args] };
}

interface ReadOption {
  readonly name: string;
  readonly written: string;
  readonly value: ShellWord;
  readonly meaning: (typeof VALUED)[string];
  /** Position of its last word. */
  readonly last: number;
}

function readOption(words: readonly ShellWord[], position: number): ReadOption {
  const word = words[position] ?? EMPTY;
  const [, given = word.text, inline] = /^(--[^=]+)=([^]*)$/.exec(word.text) ?? [];
  const name = SHORT[given] ?? given.replaceAll('_', '-');
  if (name === '--' || FORMS.has(name))
    return { name, written: given, value: EMPTY, meaning: { why: '' }, last: position };
  const alone = entry(SWITCHES, name);
  if (alone !== undefined) return { name, written: given, value: EMPTY, meaning: alone, last: position };
  const meaning = entry(VALUED, name);
  if (meaning === undefined)
    throw new ImportError(
      `torchrun option ${given} is not known here; leave it out, or write it behind the program if it is one of the program's own.`,
    );
  if (inline !== undefined)
    return { name, written: word.text, value: { ...word, text: inline }, meaning, last: position };
  const value = words[position + 1];
  // What is dropped anyway needs no value: scripts leave it to a variable that may be empty.
  if (typeof meaning !== 'string' && (value === undefined || isNextOption(value, words[position + 2])))
    return { name, written: given, value: EMPTY, meaning, last: position };
  if (value === undefined) throw new ImportError(`torchrun option ${given} has no value.`);
  return { name, written: `${given} ${value.text}`, value, meaning, last: position + 1 };
}

/** An option where a value belongs, or the program itself: `--master_port --nnodes 2`, `--rdzv_id train.py`. */
function isNextOption({ text }: ShellWord, next: ShellWord | undefined): boolean {
  return /^--?[a-z]/i.test(text) || (/\.py$/.test(text) && (next === undefined || !/\.py$/.test(next.text)));
}

const EMPTY: ShellWord = { text: '', raw: '', isLiteral: true };

function entry<T>(table: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(table, key) ? table[key] : undefined;
}

/** As torchrun starts it: unbuffered Python, unless an option changes that. */
function startOf(script: ShellWord, forms: ReadonlySet<string>, python: string): readonly ShellWord[] {
  if (forms.has('--no-python') && !forms.has('--run-path')) return [script];
  return [literal(python), literal('-u'), ...(forms.has('--module') ? [literal('-m')] : []), script];
}

/** A word that no shell changes; its raw form is what is asked of it only beside words of a script. */
export function literal(text: string): ShellWord {
  return { text, raw: text, isLiteral: true };
}

/** `/opt/conda/bin/torchrun`: torchrun. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1);
}
