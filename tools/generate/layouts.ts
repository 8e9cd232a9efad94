import { isDomainError } from '@coxswain/domain-error';
import {
  checkJobLayout,
  checkLayoutDocument,
  type DeviceMesh,
  engineSupport,
  formatLayout,
  layoutRules,
  ModelShape,
  readLayout,
  type RoleDocument,
  worldSize,
} from '@coxswain/layout';
import { parsePlanRequest, predict } from '@coxswain/planner';
import { modelOf } from '@coxswain/planner/presets';
import { placeToday, renderedToday } from './systems-today.ts';
import { trainedRows, trainedToday } from './trained-systems.ts';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parse } from 'yaml';

/** Directory of the example layouts, one file per published system. */
export const LAYOUT_EXAMPLES = resolve(import.meta.dirname, '../../examples/layouts');

/** What one example is, and what becomes of it. */
export interface LayoutExample {
  readonly file: string;
  /** System and what the file shows of it: its first line. */
  readonly title: string;
  readonly divisions: readonly string[];
  /** Broken rules; none in an example. */
  readonly errors: readonly string[];
  readonly engine: string;
  /** Options that the engine does not support, each with an alternative; empty if it supports all. */
  readonly refusals: readonly string[];
  /** What the planner makes of each role, in words; each once. */
  readonly planning: readonly string[];
}

/** Every example, read and checked. Throws for a file that is not a layout. */
export function layoutExamples(): readonly LayoutExample[] {
  return readdirSync(LAYOUT_EXAMPLES)
    .filter((file) => file.endsWith('.yaml'))
    .sort()
    .map(layoutExample);
}

/** What becomes of each role today; each answer once. */
function todayOf(file: string): { readonly rendered: string; readonly placed: string } {
  const read = readLayout(parse(readFileSync(join(LAYOUT_EXAMPLES, file), 'utf8')));
  if (read.kind === 'wrong') throw new Error(`${file} is no layout`);
  const said = (answer: (one: NamedRole) => string): string =>
    [...new Set(rolesOf(read).map((one) => `${one.name === '' ? '' : `${one.name}: `}${answer(one)}`))].join('. ');
  return {
    rendered: said(({ role }) => renderedToday(role)),
    placed: said(({ role, mesh }) => (mesh === undefined ? 'no machines given' : placeToday(role, mesh))),
  };
}

function layoutExample(file: string): LayoutExample {
  const text = readFileSync(join(LAYOUT_EXAMPLES, file), 'utf8');
  const read = readLayout(parse(text));
  if (read.kind === 'wrong') {
    throw new Error(`${file}: ${read.problems.map(({ path, message }) => `${path}: ${message}`).join('; ')}`);
  }
  const shapeOf = (name: string) => modelOf(name).model;
  const findings =
    read.kind === 'job' ? checkJobLayout(read.document, shapeOf) : checkLayoutDocument(read.document, shapeOf);
  const roles = rolesOf(read);
  return {
    file,
    title: text.split('\n', 1)[0]?.replace(/^# /, '') ?? '',
    divisions: roles.map(
      ({ name, role }) => `${name === '' ? '' : `${name}: `}${formatLayout(role.layout)} (${worldSize(role.layout)})`,
    ),
    errors: findings.filter(({ severity }) => severity === 'error').map(({ message }) => message),
    engine: [...new Set(roles.map(({ role }) => role.engine?.name ?? 'none'))].join(', '),
    refusals: [...new Set(roles.flatMap(({ role }) => refusalsOf(role)))],
    planning: [...new Set(roles.map(planningOf))],
  };
}

interface NamedRole {
  readonly name: string;
  readonly role: RoleDocument;
  readonly mesh: DeviceMesh | undefined;
}

function rolesOf(read: Exclude<ReturnType<typeof readLayout>, { kind: 'wrong' }>): readonly NamedRole[] {
  if (read.kind === 'layout') return [{ name: '', role: read.document, mesh: read.document.mesh }];
  const { roles, meshes, roleMesh } = read.document;
  return Object.entries(roles).map(([name, role]) => ({ name, role, mesh: meshes[roleMesh[name] ?? ''] }));
}

/** What the planner answers for a role: a prediction, or why there is none and what to ask instead. */
function planningOf({ name, role, mesh }: NamedRole): string {
  const of = name === '' ? '' : `${name}: `;
  const { batch, layout } = role;
  const model =
    typeof role.model === 'string' ? { model: role.model } : { modelShape: ModelShape.safeParse(role.model).data };
  if (role.model !== undefined && !('model' in model) && model.modelShape === undefined) {
    return `${of}not a transformer, so only rules and ranks apply; measure a step`;
  }
  if (batch?.sequenceLength === undefined || mesh === undefined) {
    return `${of}trains no model, so there is nothing to predict; its ranks can be placed`;
  }
  const cluster = {
    gpu: mesh.segments[0]?.gpu ?? '',
    gpus: worldSize(layout),
    gpusPerNode: mesh.gpusPerNode,
    scaleUpDomainGpus: mesh.scaleUpDomainGpus ?? mesh.gpusPerNode,
  };
  const { globalBatchSize, microBatchSize, sequenceLength } = batch;
  try {
    predict(parsePlanRequest({ ...model, cluster, globalBatchSize, sequenceLength }), { layout, microBatchSize });
    return `${of}planned`;
  } catch (error) {
    if (!isDomainError(error)) throw error;
    return `${of}refused: ${error.message}`;
  }
}

function refusalsOf({ engine, layout }: RoleDocument): readonly string[] {
  if (engine === undefined) return [];
  const outcome = engineSupport(engine.name, layout);
  return outcome.kind === 'supported' ? [] : outcome.refusals.map(({ reason, fallback }) => `${reason}; ${fallback}`);
}

/** Pages about layouts: the table of examples, and the rules. */
export function generateLayoutPages(): ReadonlyMap<string, string> {
  return new Map([
    ['examples/layouts/README.md', examplesPage()],
    ['docs/reference/generated/layout-rules.md', rulesPage()],
  ]);
}

const GENERATED = '<!-- Generated by `npm run generate` from libs/layout and these files. Do not edit. -->';

function examplesPage(): string {
  const trained = trainedRows();
  const rows = layoutExamples().map(({ file, title, divisions, engine, refusals, planning }) => {
    const [system = '', ...rest] = title.split(': ');
    const support = refusals.length === 0 ? `${engine}: supported` : `${engine}: rejected: ${refusals.join('. ')}`;
    const { rendered, placed } = todayOf(file);
    return `| [${system}](${file}) | ${rest.join(': ')} | ${divisions.join(', ')} | ${support} | ${planning.join('. ')} | ${rendered} | ${placed} | ${trainedToday(file, trained)} |`;
  });
  return [
    GENERATED,
    '# Layouts of published systems',
    '',
    'Each file is the layout of one published system: how it divides a model. Check one, or list its ranks and process groups:',
    '',
    '```sh',
    'npx coxswain layout check examples/layouts/24-moe-parallel-folding.yaml',
    'npx coxswain layout ranks examples/layouts/24-moe-parallel-folding.yaml --json',
    '```',
    '',
    'All of them are legal. The number behind a division is its number of GPUs.',
    '',
    '- *Engine*: whether the engine in the file supports every option of the layout. If not: the reason, and an alternative.',
    '- *Planner*: whether the planner can predict its time and memory (`coxswain predict FILE`). If not: the reason, and an alternative.',
    '- *Rendered for*: the engines of jobs that run every option of the layout (`coxswain render --layout FILE --engine NAME`). If there are none: engine `custom`, which runs your program, or why no engine can.',
    '- *Placed on*: where its ranks go on empty machines as in the file, with 32 nodes below a leaf switch and one island for each kind of machine.',
    '- *Trained*: what was trained on CPU ranks. Coxswain rendered the layout of the file with smaller degrees (`tp` tensor, `cp` context, `pp` pipeline, `dp` data, `ep` experts) for the engine; the losses of all steps were compared with those of one rank. What the trained layout has otherwise than the file is listed. `npm run campaign -- seed-systems` does it again and writes [the record](trained.json), in which each change has its reason. A row with `no` was not trained: the column before says which engines run it, or how your program does.',
    '',
    '| System | Shows | Division | Engine | Planner | Rendered for | Placed on | Trained |',
    '|---|---|---|---|---|---|---|---|',
    ...rows,
    '',
  ].join('\n');
}

function rulesPage(): string {
  return [
    '<!-- Generated by `npm run generate` from libs/layout. Do not edit. -->',
    '# Rules of layouts',
    '',
    'An error makes a layout illegal; a warning says that it is likely slow or useless. Rules whose facts a file does not state are not applied.',
    '',
    '| Rule | Statement | Severity | Source |',
    '|---|---|---|---|',
    ...layoutRules.map(
      ({ name, statement, severity, source }) => `| \`${name}\` | ${statement} | ${severity} | ${source} |`,
    ),
    '',
  ].join('\n');
}
