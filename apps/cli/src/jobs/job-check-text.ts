import { meaningOf } from '@coxswain/api-client';
import type { GpuCounts, JobCheck, JobObstacle, StartVerdict } from '@coxswain/api-types';
import { columns } from '../output/output.ts';

/** Whether the job would never start as things are. A job that waits for GPUs of others starts by itself. An API of an earlier release lists no obstacles. */
export function isInTheWay({ verdict, obstacles, gpusWanted, gpus }: JobCheck): boolean {
  if (obstacles !== undefined) return obstacles.some(({ effect }) => effect === 'NeedsChange');
  const isTooLarge = gpus !== null && gpusWanted > gpus.total;
  return verdict !== null && (isTooLarge || verdict.reason !== 'WaitingForCapacity');
}

const EFFECTS = { NeedsChange: 'needs a change', Waits: 'waits', MayFail: 'may fail' };

function obstacleLines({ field, value, rule, change, effect }: JobObstacle): readonly string[] {
  return [
    `- ${field}${value === null ? '' : `: ${value}`} (${meaningOf(EFFECTS, effect)})`,
    `  ${rule}`,
    ...(change === null ? [] : [`  What to do: ${change}`]),
  ];
}

function verdictLines(check: JobCheck): readonly string[] {
  const { verdict, obstacles = [] } = check;
  if (verdict === null && obstacles.length === 0)
    return ['Nothing known is in the way of this job. It was not submitted.'];
  if (verdict !== null && obstacles.length === 0)
    return [`The job would not train at once: ${verdict.reason}`, verdict.sentence, ...changeLines(verdict)];
  const title = isInTheWay(check) ? 'The job would not start as it is:' : 'Warning:';
  return [`${title} ${verdict?.reason ?? obstacles[0]?.reason}`, ...obstacles.flatMap(obstacleLines)];
}

/** What `coxswain submit --check` prints. */
export function checkText(check: JobCheck): string {
  const { checked, notChecked, gpusWanted, gpus } = check;
  const free = gpus === null ? 'unknown' : `${gpus.free} of ${gpus.total} free`;
  return [
    ...verdictLines(check),
    '',
    columns([
      ['GPUs:', `${gpusWanted} wanted, ${free}`],
      ['Checked:', checked.join(', ')],
    ]),
    ...notChecked.map(({ what, why }) => `Not checked: ${what}: ${why}.`),
  ].join('\n');
}

/** What `coxswain gpus` prints. */
export function gpusText({ total, free, types }: GpuCounts): string {
  const rows = types.map((one) => [one.type, `${one.total}`, `${one.free}`]);
  return columns([['TYPE', 'TOTAL', 'FREE'], ...rows, ['all', `${total}`, `${free}`]]);
}

/** `Change: Create corpse in namespace lab.` and what it is about. */
export function changeLines({ change, object }: Pick<StartVerdict, 'change' | 'object'>): readonly string[] {
  return [
    change === null ? 'Change: none is needed, the job continues by itself.' : `Change: ${change}`,
    ...(object === null ? [] : [`About: ${object.kind} ${object.name}`]),
  ];
}
