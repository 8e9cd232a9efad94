import type { EngineOutcome, GridTable, RankTable } from '@coxswain/layout';
import type { CheckedRole, LayoutCheck, LayoutRanks } from './layout-answers.ts';
import { columns } from '../output/output.ts';
import { mayUseOwnProgram, OWN_PROGRAM } from '../verdicts/refusal-text.ts';

/** A check for people: the verdict, what is wrong or unwise, and what each engine makes of it. */
export function checkText(check: LayoutCheck): string {
  const errors = check.findings.filter((finding) => finding.severity === 'error');
  const verdict = check.legal ? 'legal' : `illegal, ${errors.length} ${errors.length === 1 ? 'rule' : 'rules'} broken`;
  return [
    `${check.file}: ${verdict}`,
    ...check.roles.map(roleLine),
    ...check.findings.flatMap(({ severity, path, rule, message }) => [`${severity} ${path} (${rule})`, `  ${message}`]),
    ...check.roles.flatMap((role) => (role.outcome === undefined ? [] : outcomeLines(role, role.outcome))),
  ].join('\n');
}

function roleLine(role: CheckedRole): string {
  return `  ${role.name === undefined ? '' : `${role.name}: `}${role.layout} on ${role.gpus} ${role.gpus === 1 ? 'GPU' : 'GPUs'}`;
}

function outcomeLines(role: CheckedRole, outcome: EngineOutcome): readonly string[] {
  const who = `engine ${role.engine ?? ''}${role.name === undefined ? '' : ` of ${role.name}`}`;
  const { refusal } = role;
  if (outcome.kind === 'supported') {
    if (refusal === undefined)
      return [`${who}: supports the whole layout`, ...(role.notPriced ?? []).map((note) => `  ${note}`)];
    return [`${who}: refuses ${refusal.field} (${refusal.rule})`, `  ${refusal.why}; ${refusal.fallback}`];
  }
  const lines = outcome.refusals.map(({ reason, fallback }) => `  ${reason}; ${fallback}`);
  return [`${who}: refuses`, ...lines, ...(mayUseOwnProgram(role.engine ?? '') ? [`  ${OWN_PROGRAM}`] : [])];
}

/** Ranks and groups shown to people; the rest is for programs. */
const SHOWN_RANKS = 64;
const SHOWN_GROUPS = 4;

/** A rank map for people: groups per axis, then the first ranks. */
export function ranksText({ roles }: LayoutRanks): string {
  return roles
    .map(({ name, table }) => [...(name === undefined ? [] : [`${name}`]), tableText(table)].join('\n'))
    .join('\n\n');
}

function tableText(table: RankTable): string {
  const { dense, expert, ranks } = table;
  const denseAxes = axesAboveOne(dense);
  const expertAxes = expert === undefined ? [] : axesAboveOne(expert);
  const header = ['RANK', ...denseAxes, ...expertAxes.map((axis) => `experts:${axis}`)];
  const rows = ranks
    .slice(0, SHOWN_RANKS)
    .map((rank) => [
      String(rank.rank),
      ...denseAxes.map((axis) => String(rank.dense[axis])),
      ...expertAxes.map((axis) => String(rank.expert?.[axis])),
    ]);
  const more = ranks.length - rows.length;
  return [
    `${table.worldSize} ranks; from adjacent to distant: ${table.rankOrder.join(', ')}`,
    columns([
      ['GRID', 'AXIS', 'DEGREE', 'GROUPS', 'FIRST GROUPS'],
      ...groupRows('dense', dense),
      ...(expert === undefined ? [] : groupRows('experts', expert)),
    ]),
    '',
    columns([header, ...rows]),
    ...(more > 0 ? [`and ${more} ranks more; --json lists all of them`] : []),
  ].join('\n');
}

function groupRows(grid: string, { degrees, groups }: GridTable): readonly (readonly string[])[] {
  return axesAboveOne({ degrees }).map((axis) => {
    const all = groups[axis] ?? [];
    const shown = all.slice(0, SHOWN_GROUPS).map((group) => `[${shortened(group)}]`);
    return [
      grid,
      axis,
      String(degrees[axis]),
      String(all.length),
      `${shown.join(' ')}${all.length > SHOWN_GROUPS ? ' …' : ''}`,
    ];
  });
}

function shortened(group: readonly number[]): string {
  return group.length <= 8 ? group.join(' ') : `${group.slice(0, 3).join(' ')} … ${group.at(-1) ?? ''}`;
}

function axesAboveOne({ degrees }: Pick<GridTable, 'degrees'>): readonly (keyof GridTable['degrees'])[] {
  return (Object.keys(degrees) as (keyof GridTable['degrees'])[]).filter((axis) => (degrees[axis] ?? 1) > 1);
}
