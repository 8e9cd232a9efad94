import type { QueueMeasures, ReadHistory, ReplayReport } from '@coxswain/simulation';
import { QUEUE_RULE_TITLES } from '@coxswain/simulation/queue-rules';
import { columns } from '../output/output.ts';

/** What a replay prints as JSON. */
export interface ReplayAnswer extends ReplayReport {
  readonly jobs: number;
  readonly leftOut: ReadHistory['leftOut'];
}

/** For people: the waits as they were and under each rule, in hours. */
export function replayText(answer: ReplayAnswer): string {
  const rows = [
    ['as it was', answer.history] as const,
    ...answer.rules.map((measures) => [measures.rule, measures] as const),
  ];
  const table = columns([
    ['RULE', 'GPUS HELD', 'MEAN WAIT', 'HALF WITHIN', '90 % WITHIN', 'LONGEST', 'ONE NODE', 'LARGEST JOBS'],
    ...rows.map(([name, measures]) => [name, ...cellsOf(measures)]),
  ]);
  return [heading(answer), table, legend(answer)].join('\n\n');
}

function heading({ jobs, nodes, gpusPerNode, days, isPeak, leftOut, stillRunning }: ReplayAnswer): string {
  const size = isPeak ? `, as many as the history used at once; --nodes sets the real number` : '';
  const parts = [
    `${jobsText(jobs)} in ${days.toFixed(1)} days on ${nodes} nodes of ${gpusPerNode} GPUs${size}.`,
    ...leftOut.map(({ count, why }) => `Left out: ${jobsText(count)} ${why}.`),
    ...(stillRunning === 0
      ? []
      : [`${jobsText(stillRunning)} still ran; the replay ends them at the newest time of the history.`]),
  ];
  return parts.join('\n');
}

function jobsText(count: number): string {
  return count === 1 ? '1 job' : `${count} jobs`;
}

function legend({ nodes, rules }: ReplayAnswer): string {
  const titles = rules.map(({ rule }) => [rule, QUEUE_RULE_TITLES[rule]]);
  const least = Math.ceil(nodes / 4);
  return `Waits in hours; ONE NODE and LARGEST JOBS (nodes: at least ${least}) are means.\n${columns(titles)}`;
}

function cellsOf({ utilisation, all, oneNode, largest }: QueueMeasures): readonly string[] {
  const waits = [all.meanHours, all.p50Hours, all.p90Hours, all.longestHours, oneNode.meanHours, largest.meanHours];
  return [`${(utilisation * 100).toFixed(1)} %`, ...waits.map((value) => (value === null ? '-' : value.toFixed(2)))];
}
