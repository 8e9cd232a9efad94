/** An exported file in which a person changed the image, the size of the gang, or variables: the job with these changes. */
import { GPU_RESOURCE, JobCreate } from '@coxswain/api-types';
import { parse } from 'yaml';
import type { ReportLine } from '../job-import/import-report.ts';
import { exportedJob, type ExportForm } from './exported-job.ts';

/** A job whose exported file was edited, and what was edited. */
export interface EditedJob {
  readonly job: JobCreate;
  readonly edits: readonly ReportLine[];
}

type Variables = ReadonlyMap<string, string>;

/** What people edit in a file. */
interface Facts {
  readonly image: string | undefined;
  readonly nodes: number;
  readonly gpusPerNode: number;
  readonly env: Variables;
}

/** A script as its text, or the object of a file. */
type Content = unknown;

/** Undefined if the file was changed in another way, so that its fields count. */
export function editedJob(job: JobCreate, form: ExportForm, given: Content): EditedJob | undefined {
  const before = contentOf(exportedJob(job, form), form);
  const [was, is] = [factsOf(before, form), factsOf(given, form)];
  if (was === undefined || is === undefined) return undefined;
  const spec = editedSpec(job, was, is);
  const candidate = JobCreate.safeParse({ ...job, spec });
  if (!candidate.success) return undefined;
  const after = exportAgain(candidate.data, form);
  if (after === undefined || !isOfEither(linesOf(given), linesOf(before), linesOf(contentOf(after, form))))
    return undefined;
  return { job: candidate.data, edits: editsOf(was, is) };
}

function contentOf(exported: string, form: ExportForm): Content {
  return form === 'sbatch' ? exported : (parse(exported) as unknown);
}

function exportAgain(job: JobCreate, form: ExportForm): string | undefined {
  try {
    return exportedJob(job, form);
  } catch {
    return undefined;
  }
}

function editsOf(was: Facts, is: Facts): readonly ReportLine[] {
  const edited = (from: string, to: string): ReportLine => ({ outcome: 'taken', from: `${from}, edited`, to });
  const names = [...new Set([...was.env.keys(), ...is.env.keys()])].filter(
    (name) => was.env.get(name) !== is.env.get(name),
  );
  const isResized = was.nodes !== is.nodes || was.gpusPerNode !== is.gpusPerNode;
  return [
    ...(was.image === is.image ? [] : [edited('image', `engine.image ${is.image ?? ''}`)]),
    ...(isResized ? [edited(`${is.nodes} x ${is.gpusPerNode} GPUs`, 'layout.dataParallelDegree')] : []),
    ...names.map((name) => edited(`variable ${name}`, `engine.env ${name}`)),
  ];
}

/** The spec with the edits: more or fewer GPUs are more or fewer ranks of data parallelism. */
function editedSpec({ spec }: JobCreate, was: Facts, is: Facts): object {
  const { layout, engine, resources } = spec;
  const grown = (is.nodes * is.gpusPerNode) / (was.nodes * was.gpusPerNode);
  const env = editedVariables(engine.env ?? [], was.env, is.env);
  const { env: _before, ...rest } = engine;
  return {
    ...spec,
    engine: { ...rest, ...(is.image === undefined ? {} : { image: is.image }), ...(env.length === 0 ? {} : { env }) },
    ...(grown === 1 || layout === undefined
      ? {}
      : { layout: { ...layout, dataParallelDegree: layout.dataParallelDegree * grown } }),
    // Absent, it follows from the number of ranks, which has changed.
    ...(grown === 1 && is.gpusPerNode === was.gpusPerNode
      ? {}
      : { resources: { ...resources, gpusPerNode: is.gpusPerNode } }),
  };
}

type Variable = NonNullable<JobCreate['spec']['engine']['env']>[number];

/** In their order; new ones last. */
function editedVariables(env: readonly Variable[], was: Variables, is: Variables): readonly Variable[] {
  const kept = env.flatMap((one) => (is.has(one.name) ? [{ ...one, value: is.get(one.name) ?? '' }] : []));
  const added = [...is].filter(([name, value]) => was.get(name) !== value && !env.some((one) => one.name === name));
  return [...kept, ...added.map(([name, value]) => ({ name, value }))];
}

/** Undefined if pods differ from each other, or a number cannot be read. */
function factsOf(content: Content, form: ExportForm): Facts | undefined {
  const facts = typeof content === 'string' ? factsOfScript(content) : factsOfObject(content, form);
  return facts !== undefined && [facts.nodes, facts.gpusPerNode].every((one) => Number.isInteger(one) && one > 0)
    ? facts
    : undefined;
}

function factsOfScript(text: string): Facts {
  const option = (name: string): number => Number(new RegExp(`^#SBATCH --${name}=(\\d+)$`, 'm').exec(text)?.[1]);
  const exported = text.matchAll(/^export (?!MASTER_)([A-Za-z_]\w*)=(.*)$/gm);
  return {
    image: / --container-image=(\S+)/.exec(text)?.[1],
    nodes: option('nodes'),
    gpusPerNode: option('gpus-per-node'),
    env: new Map([...exported].map(([, name = '', value = '']) => [name, plainWord(value)])),
  };
}

/** A word of a shell without its quotes. */
function plainWord(word: string): string {
  const quoted = /^'(.*)'$/s.exec(word)?.[1];
  return quoted === undefined ? word : quoted.replaceAll(`'\\''`, `'`);
}

function factsOfObject(document: unknown, form: ExportForm): Facts | undefined {
  const only = (name: string): unknown => {
    const found = [...new Set(valuesAt(document, name).map((one) => JSON.stringify(one)))];
    return found.length > 1 ? NaN : found.map((one) => JSON.parse(one) as unknown)[0];
  };
  const [image, env = [], gpusPerNode] = [only('image'), only('env'), only(GPU_RESOURCE)];
  const nodes = {
    jobset: () => (Number(only('parallelism')) === Number(only('completions')) ? Number(only('completions')) : NaN),
    trainjob: () => Number(only('numNodes')),
    pytorchjob: () => valuesAt(document, 'replicas').reduce<number>((sum, one) => sum + Number(one), 0),
    sbatch: () => NaN,
  }[form]();
  if (!Array.isArray(env) || (image !== undefined && typeof image !== 'string')) return undefined;
  const plain = (env as readonly { name: string; value?: unknown }[]).filter(({ value }) => value !== undefined);
  return {
    image,
    nodes,
    gpusPerNode: Number(gpusPerNode),
    env: new Map(plain.map(({ name, value }) => [name, String(value)])),
  };
}

/** Values of every field of that name, wherever it is. */
function valuesAt(value: unknown, name: string): readonly unknown[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, inner]) =>
    key === name ? [inner] : key === 'annotations' ? [] : valuesAt(inner, name),
  );
}

/** The file as lines: a field with its path and value each, and a script line by line. Sizes and the image within lines are left out: they were read. */
function linesOf(content: Content): readonly string[] {
  const whole = typeof content === 'string' ? content.split('\n') : leavesOf(content, '');
  return whole.map((line) => line.replaceAll(/--(nnodes|nproc-per-node|container-image)=\S+/g, '--$1'));
}

/** An environment has no order. What an API server adds is not in either export. */
function leavesOf(value: unknown, path: string): readonly string[] {
  if (typeof value === 'string') return value.split('\n').map((line) => `${path} ${line}`);
  if (typeof value !== 'object' || value === null) return [`${path} ${String(value)}`];
  if (path.endsWith('.env')) return (value as readonly object[]).map((one) => `${path} ${JSON.stringify(one)}`);
  return Object.entries(value).flatMap(([key, inner]) => leavesOf(inner, `${path}.${key}`));
}

/** Whether each line is one of the export before or after the edits, and no line that both have is gone. */
function isOfEither(lines: readonly string[], before: readonly string[], after: readonly string[]): boolean {
  const [given, old, edited] = [new Set(lines), new Set(before), new Set(after)];
  return (
    lines.every((line) => old.has(line) || edited.has(line) || isOfServer(line)) &&
    before.every((line) => !edited.has(line) || given.has(line))
  );
}

/** Fields that an API server adds. */
function isOfServer(line: string): boolean {
  return /^\.(?:status|metadata\.(?:uid|generation|resourceVersion|creationTimestamp|managedFields))\b/.test(line);
}
