import { avoidedWait } from '../failure/avoided-nodes.ts';
import { fenceWait } from '../look/facts.ts';
import { pullsToldWait } from '../look/image-pulls.ts';
import { liveAttempt } from '../record/job-record.ts';
import { pauseInPods } from '../epoch/next-incarnation.ts';
import { nodeWaits } from '../failure/lost-nodes.ts';
import { restartDelay } from '../epoch/next-epoch.ts';
import { stepUnderWay } from '../failure/overdue.ts';
import type { Situation } from './situation.ts';
import type { Wait } from '../look/waits.ts';

/** Everything about the job that has consequences when it lasts, as of this look. */
export function waitsOf({ record, facts }: Situation): readonly Wait[] {
  const fences = facts.pods.flatMap((pod) => fenceWait(facts, pod) ?? []);
  if (record.terminal !== undefined) return fences;
  const attempt = liveAttempt(record);
  const isUp = attempt !== undefined && attempt.stage !== 'Stopping';
  return [
    ...fences,
    ...(isUp ? nodeWaits(facts, attempt) : []),
    ...(attempt === undefined ? [] : stepWaits(facts, attempt)),
    ...[restartDelay(record, facts) ?? []].flat(),
    ...[pauseInPods(record, facts) ?? []].flat(),
    ...record.avoidedNodes.map((avoided) => avoidedWait(avoided, facts)),
  ];
}

function stepWaits(...about: Parameters<typeof stepUnderWay>): readonly Wait[] {
  const step = stepUnderWay(...about);
  return step === undefined ? [] : [step.wait, ...[pullsToldWait(...about) ?? []].flat()];
}
