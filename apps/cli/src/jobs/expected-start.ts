import type { JobStart, QueueStart } from '@coxswain/api-types';
import { formatDuration } from '@coxswain/units';
import { between, startWords } from './queue-command.ts';

/** What an expected time rests on, in words. */
const RESTS_ON: Readonly<Record<NonNullable<QueueStart['restsOn']>, string>> = {
  Measured: 'It rests on measured step times.',
  Predicted: 'It rests on step times that the planner predicted.',
  MaxRuntime: 'It rests on the time limit of a job.',
  Assumed: 'It is assumed, because the end of a running job is not known.',
};

/** When a job is expected to start, what binds it and which changes would help; nothing for a job that does not wait for GPUs. */
export function expectedStartLines({ place, waitingJobs, problem, changes, asOf }: JobStart): readonly string[] {
  if (place === null) return [];
  const { position, start, constraint } = place;
  return [
    '',
    `Position ${position} of ${waitingJobs}. ${constraint.sentence}`,
    problem === null ? startLine(start, asOf) : `No start is predicted: ${problem}`,
    ...(changes.length === 0 ? [] : ['Each of these changes alone lets it start earlier:']),
    ...changes.map((change) => `  ${change.sentence} Expected start: ${startWords(change.start, asOf)}.`),
  ];
}

function startLine(start: QueueStart | null, asOf: string): string {
  if (start === null) return 'Expected start: not known.';
  const { at, earliest, latest, restsOn, nodesHeld } = start;
  const after = (time: string): string => formatDuration(between(asOf, time));
  const interval =
    latest === null
      ? `, not before ${after(earliest)}`
      : earliest === latest
        ? ''
        : `, between ${after(earliest)} and ${after(latest)}`;
  return [
    `Expected start: ${startWords(at, asOf)} (${at})${interval}.`,
    ...(nodesHeld ? ['Nodes are held for it.'] : []),
    ...(restsOn === null ? [] : [RESTS_ON[restsOn]]),
  ].join(' ');
}
