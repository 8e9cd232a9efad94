import { shortOfGpus } from '../epoch/elastic.ts';
import { makeRoomWait } from '../epoch/make-room.ts';
import { evictionWait } from '../epoch/record-eviction.ts';
import { claimWaits } from '../epoch/record-claim.ts';
import { claimPause } from '../observation/claim-on.ts';
import { roomsToGrow } from '../epoch/growth.ts';
import { isWaitingForCapacity } from '@coxswain/scheduling';
import { launchersEndWait } from './ending-launchers.ts';
import { avoidedWait } from '../failure/avoided-nodes.ts';
import { originWaits } from '../failure/failure.ts';
import { fenceWait } from '../observation/facts.ts';
import { finishedWait } from '../observation/gang-standing.ts';
import { unheardWait } from '../observation/unheard-pods.ts';
import { pullReportWait } from '../observation/image-pulls.ts';
import { silentWait } from '../observation/silent-pods.ts';
import { liveAttempt } from '../record/job-record.ts';
import { pauseInPods } from '../epoch/next-incarnation.ts';
import { nodeWaits } from '../failure/lost-nodes.ts';
import { restartDelay } from '../epoch/next-epoch.ts';
import { stepUnderWay } from '../failure/overdue.ts';
import type { Situation } from './situation.ts';
import type { Wait } from '../observation/waits.ts';

/** Every wait of the job that has a consequence once it has lasted long enough, as of this observation. */
export function waitsOf(situation: Situation): readonly Wait[] {
  const { record, facts, now } = situation;
  const fences = facts.pods.flatMap((pod) => fenceWait(facts, pod) ?? []);
  if (record.terminal !== undefined) return fences;
  const attempt = liveAttempt(record);
  const isUp = attempt !== undefined && attempt.stage !== 'Stopping';
  return [
    ...fences,
    ...(isUp ? nodeWaits(facts, attempt) : []),
    ...(isUp ? originWaits(facts, attempt) : []),
    ...(attempt === undefined ? [] : [launchersEndWait(facts, attempt) ?? []].flat()),
    ...(attempt === undefined ? [] : stepWaits(facts, attempt)),
    ...(isUp ? [finishedWait(facts, attempt) ?? [], unheardWait(facts, attempt) ?? []].flat() : []),
    ...[hasNoRoom(situation) ? (shortOfGpus(record, facts) ?? []) : []].flat(),
    ...roomsToGrow(record, facts, now).map(({ wait }) => wait),
    ...[makeRoomWait(record, facts) ?? [], evictionWait(record, facts) ?? [], claimPause(record) ?? []].flat(),
    ...claimWaits(record, facts),
    ...[restartDelay(record, facts) ?? []].flat(),
    ...[pauseInPods(record, facts) ?? []].flat(),
    ...record.avoidedNodes.map((avoided) => avoidedWait(avoided, facts)),
  ];
}

/** Whether the job has no room: its plan finds none, no layout fits so many GPUs, or a smaller plan is being made for that reason. */
function hasNoRoom({ facts, next, planning, record, acceptance }: Situation): boolean {
  if (acceptance.kind === 'refused' && acceptance.reason === 'NoLayoutFits') return true;
  if (planning.kind === 'asking') return planning.question.about.gpus < (record.plan?.gpus ?? 0);
  // The nodes are searched once more, and the search may fail again.
  if (next.kind === 'choosingNodes') return isWaitingForCapacity(facts.job);
  // A smaller size may fit the quota that is free.
  if (next.kind === 'waitingForQuota') return facts.observed.quota?.kind === 'waiting';
  return next.kind === 'waiting' || next.kind === 'unsatisfiable';
}

function stepWaits(...about: Parameters<typeof stepUnderWay>): readonly Wait[] {
  const step = stepUnderWay(...about);
  return step === undefined ? [] : [step.wait, ...[pullReportWait(...about) ?? [], silentWait(...about) ?? []].flat()];
}
