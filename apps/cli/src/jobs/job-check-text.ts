import type { GpuCounts, JobCheck } from '@coxswain/api-types';
import { columns } from '../output/output.ts';
import { changeLines } from './explain-command.ts';

/** Whether the job would not start by itself. A job that waits for GPUs does. */
export function isInTheWay({ verdict }: JobCheck): boolean {
  return verdict !== null && verdict.reason !== 'WaitingForCapacity';
}

/** What `coxswain submit --check` prints. */
export function checkText(check: JobCheck): string {
  const { verdict, checked, notChecked, gpusWanted, gpus } = check;
  const free = gpus === null ? 'unknown' : `${gpus.free} of ${gpus.total} free`;
  return [
    ...(verdict === null
      ? ['Nothing known is in the way of this job. It was not submitted.']
      : [`The job would not train at once: ${verdict.reason}`, verdict.sentence, ...changeLines(verdict)]),
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
