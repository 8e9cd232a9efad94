import { isDomainError } from '@coxswain/domain-error';
import { type AskedOfEngine, isEngineName } from '@coxswain/engines';
import {
  checkJobLayout,
  checkLayoutDocument,
  type DeviceMesh,
  engineSupport,
  formatLayout,
  layoutFindings,
  type ModelByName,
  type ParallelLayout,
  rankTable,
  type RoleDocument,
  worldSize,
} from '@coxswain/layout';
import { modelOf } from '@coxswain/planner/presets';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { engineVerdict } from '../verdicts/engine-verdict.ts';
import type { CheckedRole, LayoutCheck, LayoutRanks } from './layout-answers.ts';
import { checkText, ranksText } from './layout-tables.ts';
import { withEngineFile } from '../files/engine-file.ts';
import { readLayoutFile, type WellRead } from '../files/read-layout-file.ts';
import { jsonText } from '../output/output.ts';
import type { Session } from '../session/session.ts';

interface JsonOption {
  readonly json?: true;
}

interface CheckOptions extends JsonOption {
  readonly engineFile?: string;
}

/** Commands about layout files; no server is asked. */
export function addLayoutCommands(program: Command, session: Session): void {
  const layout = program.command('layout').description('check a parallel layout file, or list its ranks and groups');

  layout
    .command('check <file>')
    .description(
      'list the broken rules of a layout, warnings, and what its engine refuses (exit code 1, as for broken rules); - is standard input',
    )
    .option(
      '--engine-file <file>',
      'configuration of the engine, such as ds_config.json or train.toml; its values become engine.options',
    )
    .option('--json', 'print JSON (as --output json)')
    .addHelpText('after', CHECK_EXAMPLES)
    .action((path: string, options: CheckOptions) => {
      const check = checkedFile(path, options.engineFile);
      show(session, options, check, checkText);
      if (!check.legal || check.roles.some(isRefused)) session.setExitCode(1);
    });

  layout
    .command('ranks <file>')
    .description(
      'print each rank’s index on every axis, and the process groups as the engine creates them; - is standard input',
    )
    .option('--json', 'print all ranks and groups as JSON (without it, only the first)')
    .addHelpText('after', RANKS_EXAMPLES)
    .action((path: string, options: JsonOption) => {
      const ranks = ranksOf(path);
      const [only] = ranks.roles;
      const isNamed = only?.name !== undefined;
      show(session, options, isNamed || only === undefined ? ranks : only.table, () => ranksText(ranks));
    });
}

const CHECK_EXAMPLES = `
The file is YAML or JSON: a layout alone, a document with layout, engine, model, batch and mesh, or a job with roles.

Examples:
  coxswain layout check examples/layouts/24-moe-parallel-folding.yaml
  echo '{"tensorParallelDegree": 8, "dataParallelDegree": 4}' | coxswain layout check -`;

const RANKS_EXAMPLES = `
JSON holds, for the dense and (with experts) the expert grid, degrees and groups per axis as lists of global ranks, and ranks.

Examples:
  coxswain layout ranks examples/layouts/02-ptd-p.yaml
  coxswain layout ranks --json examples/layouts/24-moe-parallel-folding.yaml | jq '.expert.groups.expert[0]'`;

function show<T>(session: Session, options: JsonOption, data: T, table: (data: T) => string): void {
  if (options.json === true) session.print(jsonText(data, 2));
  else session.show(data, table);
}

const shapeOf: ModelByName = (name) => modelOf(name).model;

function checkedFile(path: string, engineFile: string | undefined): LayoutCheck {
  const read = withOptionsOf(readLayoutFile(path), path, engineFile);
  const findings = inPlainWords(() =>
    read.kind === 'job' ? checkJobLayout(read.document, shapeOf) : checkLayoutDocument(read.document, shapeOf),
  );
  return {
    file: path === '-' ? 'standard input' : path,
    legal: findings.every((finding) => finding.severity !== 'error'),
    roles: rolesOf(read).map(({ name, role, mesh }) => ({
      ...(name === undefined ? {} : { name }),
      layout: formatLayout(role.layout),
      gpus: worldSize(role.layout),
      ...(role.engine === undefined ? {} : verdictOf({ ...role, engine: role.engine, mesh })),
    })),
    findings,
  };
}

/** The document with the options of the engine's own file. */
function withOptionsOf(read: WellRead, path: string, engineFile: string | undefined): WellRead {
  if (engineFile === undefined) return read;
  if (read.kind === 'job' || read.document.engine === undefined)
    throw new CliError(`--engine-file needs a layout document with engine, and ${path} names none; add engine.name.`);
  return { ...read, document: { ...read.document, engine: withEngineFile(read.document.engine, engineFile) } };
}

function verdictOf(asked: AskedOfEngine): Pick<CheckedRole, 'engine' | 'outcome' | 'refusal' | 'notPriced'> {
  const { engine, layout } = asked;
  const { refusal, notPriced } = engineVerdict(asked);
  return {
    engine: engine.name,
    outcome: engineSupport(engine.name, layout),
    ...(refusal === undefined ? {} : { refusal }),
    ...(notPriced.length === 0 ? {} : { notPriced }),
  };
}

/** An engine that jobs can name refuses by its adapter; of another one its options are known. */
function isRefused({ engine, outcome, refusal }: CheckedRole): boolean {
  if (engine === undefined) return false;
  return isEngineName(engine) ? refusal !== undefined : outcome?.kind === 'refused';
}

function ranksOf(path: string): LayoutRanks {
  return {
    roles: rolesOf(readLayoutFile(path)).map(({ name, role }) => {
      requireRanks(role.layout, path);
      return { ...(name === undefined ? {} : { name }), table: rankTable(role.layout) };
    }),
  };
}

interface ReadRole {
  readonly name?: string;
  readonly role: RoleDocument;
  readonly mesh?: DeviceMesh | undefined;
}

function rolesOf(read: WellRead): readonly ReadRole[] {
  if (read.kind === 'layout') return [{ role: read.document, mesh: read.document.mesh }];
  const { roles, meshes, roleMesh } = read.document;
  return Object.entries(roles).map(([name, role]) => ({ name, role, mesh: meshes[roleMesh[name] ?? ''] }));
}

/** Rules without which there is no rank map; `layout check` reports all others. */
const NEEDED_FOR_RANKS: ReadonlySet<string> = new Set([
  'worldSizeWithinLimit',
  'rankOrderNamesEveryAxis',
  'expertGridFillsStage',
  'shardDegreeDividesDataRanks',
  'ulyssesRingFactors',
]);

function requireRanks(layout: ParallelLayout, path: string): void {
  const [first] = layoutFindings(layout, {}).filter((finding) => NEEDED_FOR_RANKS.has(finding.rule));
  if (first !== undefined) throw new CliError(`${path} has no rank map: ${first.message}.`);
}

/** An unknown model name is an error of the user. */
function inPlainWords<T>(of: () => T): T {
  try {
    return of();
  } catch (error) {
    if (isDomainError(error)) throw new CliError(error.message);
    throw error;
  }
}
