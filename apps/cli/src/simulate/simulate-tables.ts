import type { SimulationReport } from '@coxswain/simulation';
import { columns } from '../output/output.ts';

type Loss = keyof SimulationReport['losses'];

/** In the order of the table. */
const LOSS_NAMES: Readonly<Record<Loss, string>> = {
  detect: 'until a fault is noticed',
  locate: 'until it is known where',
  restart: 'until training resumes',
  lostWork: 'trained again from the last save',
  checkpointStall: 'held up by saves',
  straggler: 'slower because of slow nodes',
  planned: 'planned stops',
};

/** For people: what is effective, where the rest went, by part and by cause, and what would help. */
export function simulationText(report: SimulationReport): string {
  const { interruptions, answers, gaveUp } = report;
  const standbys = answers.standby === 0 ? '' : `${rounded(answers.standby)} times a standby takes a place, `;
  const parts = [
    heading(report),
    columns([
      ['LOST', 'OF TIME'],
      ...Object.entries(LOSS_NAMES).map(([loss, name]) => [name, percent(report.losses[loss as Loss])]),
    ]),
    columns([['CAUSE', 'TIMES', 'HOURS LOST'], ...report.causes.map(causeRow)]),
    `A run has ${rounded(interruptions.faults)} faults, ${rounded(interruptions.planned)} planned stops and ${rounded(interruptions.evictions)} evictions of healthy nodes; ${rounded(report.persons)} faults need a person. A fault interrupts training for ${rounded(report.meanMinutesToRecover)} min. ` +
      `${rounded(answers.inPlace)} times the ranks restart in their pods, ${standbys}${rounded(answers.newEpoch)} times in a new attempt; the job waits ${rounded(report.waitedForNodesHours)} h for nodes.`,
    columns([['WHAT IF', 'EFFECTIVE', 'GAIN'], ...report.whatIf.map((one) => whatIfRow(one, report.question.seeds))]),
    gaveUp === undefined
      ? ''
      : `! The job was given up in ${gaveUp.runs} of ${report.question.seeds} runs: ${gaveUp.why}`,
    report.sources.join('\n'),
  ];
  return parts.filter((part) => part !== '').join('\n\n');
}

function heading({
  question,
  effective,
  lowest,
  highest,
  effectiveBesidePlanned,
  spareNodes,
}: SimulationReport): string {
  const { gpus, days, seeds, failures, response } = question;
  return (
    `${percent(effective)} effective on ${gpus} GPUs and ${spareNodes} spare nodes in ${days} day${days === 1 ? '' : 's'} (${percent(lowest)} to ${percent(highest)} of ${seeds} run${seeds === 1 ? '' : 's'}); ` +
    `${percent(effectiveBesidePlanned)} without planned stops. Failures: ${failures}; response: ${response}.`
  );
}

function causeRow({ cause, count, hours }: SimulationReport['causes'][number]): readonly string[] {
  return [cause, rounded(count), hours.toFixed(2)];
}

function whatIfRow(
  { change, effective, gain, gaveUpRuns }: SimulationReport['whatIf'][number],
  runs: number,
): readonly string[] {
  if (gaveUpRuns > 0) return [change, '-', `given up in ${gaveUpRuns} of ${runs} runs`];
  return [change, percent(effective), `${gain >= 0 ? '+' : '-'}${percent(Math.abs(gain))}`];
}

function percent(share: number): string {
  return `${(100 * share).toFixed(2)} %`;
}

function rounded(value: number): string {
  return value.toFixed(1);
}
