/** What a change of a job changes in its rendering: what a table of fields and options compares. */
import type { RenderedEngine, Rendering } from '../rendering.ts';

/** The job as a file for the script of the user: it repeats every field. */
const JOB_FILE = 'job.json';

/** What the other rendering has beside the plain one, and what it lacks, which `without` begins; or the four parts of its refusal. */
export function renderedChanges(plain: Rendering, other: Rendering): readonly string[] {
  if (other.kind === 'refused') return [other.rule, other.field, other.why, other.fallback];
  if (plain.kind === 'refused') throw new Error(plain.why);
  const [before, after] = [linesOf(plain), linesOf(other)];
  return [
    ...after.filter((line) => !before.includes(line)),
    ...before.filter((line) => !after.includes(line)).map((line) => `without ${line}`),
  ];
}

function linesOf({ command, env, files, notes, ...rest }: RenderedEngine): readonly string[] {
  const { resumeArgs, startedBy, hostMemoryGibPerGpu = 0 } = rest;
  return [
    ...optionsOf(command),
    ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
    ...files.filter(({ path }) => path !== JOB_FILE).flatMap(({ path, text }) => linesOfFile(path, text)),
    ...notes.map((note) => `note: ${note}`),
    `started by ${startedBy}`,
    `${hostMemoryGibPerGpu} GiB of host memory`,
    ...(resumeArgs.length === 0 ? [] : [`resumed by ${resumeArgs.join(' ')}`]),
  ];
}

/** Each option with its values, and the words before the first. */
function optionsOf(command: readonly string[]): readonly string[] {
  const begins = command.flatMap((word, index) => (index === 0 || word.startsWith('--') ? [index] : []));
  return begins.map((begin, index) => command.slice(begin, begins[index + 1]).join(' '));
}

/** Leaves of JSON by their path; lines of every other text. */
function linesOfFile(path: string, text: string): readonly string[] {
  if (path.endsWith('.json')) return leaves('', JSON.parse(text));
  return text.split('\n').filter((line) => line !== '');
}

function leaves(path: string, value: unknown): readonly string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [`${path}: ${JSON.stringify(value)}`];
  return Object.entries(value).flatMap(([name, inner]) => leaves(path === '' ? name : `${path}.${name}`, inner));
}
