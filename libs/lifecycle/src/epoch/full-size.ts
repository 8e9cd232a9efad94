/** Does an elastic job run on all of its GPUs, and if not, what keeps it from growing? */
import type { ReasonOf } from '@coxswain/api-types';
import { worldSize } from '@coxswain/layout';
import type { Facts } from '../observation/facts.ts';
import { returnOf } from '../observation/returns.ts';
import { type JobRecord, liveAttempt } from '../record/job-record.ts';
import { elasticSpec } from './elastic.ts';
import { hasQuotaToGrow, lastingRoom, roomsToGrow, whyNotToGrow } from './growth.ts';

type Reason = ReasonOf<'AtFullSize'>;

/** Condition AtFullSize; undefined: the job is not elastic, or no gang of it runs. Its message has no figure that changes while the reason stays. */
export function fullSizeDraft(
  record: JobRecord,
  facts: Facts,
  now: Date,
): { readonly holds: boolean; readonly reason: Reason; readonly message: string } | undefined {
  const spec = elasticSpec(facts);
  const attempt = liveAttempt(record);
  if (spec === undefined || attempt?.stage !== 'Released' || attempt.runningAt === undefined) return undefined;
  const gpus = worldSize(attempt.layout);
  const sizes = (record.plan?.sizes ?? []).map((size) => size.gpus);
  const possible = sizes.length < 2 ? '' : ` The planner found layouts for ${sizes.join(', ')} GPUs.`;
  if (gpus >= spec.gpus)
    return { holds: true, reason: 'AllGpus', message: `The job runs on all of its ${spec.gpus} GPUs.${possible}` };
  const reason = reasonOf(record, facts, now);
  const message = `The job runs on ${gpus} of ${spec.gpus} GPUs. ${SENTENCES[reason]}${possible}`;
  return { holds: false, reason, message };
}

/** The first condition that binds. What the job itself cannot change comes first. */
function reasonOf(record: JobRecord, facts: Facts, now: Date): Exclude<Reason, 'AllGpus'> {
  const attempt = liveAttempt(record);
  const returns = attempt !== undefined && returnOf(facts, attempt) !== undefined;
  const obstacle = whyNotToGrow(record, facts, now);
  if (obstacle !== undefined && obstacle !== 'ChangedRecently') return obstacle;
  if (!returns && facts.observed.doOthersWait?.() === true) return 'OtherJobsWait';
  if (roomsToGrow(record, facts, now).length === 0) return 'GpusNotFree';
  if (obstacle !== undefined) return obstacle;
  if (lastingRoom(record, facts, now) === undefined) return 'FreeForTooShort';
  return hasQuotaToGrow(facts) ? 'WaitingForSave' : 'WaitingForQuota';
}

const SENTENCES: Readonly<Record<Exclude<Reason, 'AllGpus'>, string>> = {
  OtherJobsWait: 'It does not grow while other jobs wait for GPUs.',
  GpusNotFree: 'It grows when the missing GPUs are free on nodes that it may use.',
  QuotaReclaimed:
    'It does not grow for a day, because Kueue took quota back within an hour of its last growth. Raise the quota of its queue to let it keep all GPUs.',
  LittleFaster: 'It does not grow, because each further GPU would add less than half of the speed of a present one.',
  DoesNotPay:
    'It does not grow, because it would gain less than twice the time of a change before its end or the next change that it does not choose.',
  ChangedRecently: 'It grows after it has run for ten times the time that a change costs.',
  FreeForTooShort: 'The missing GPUs are free; it grows when they have been free for long enough.',
  WaitingForQuota:
    'The missing GPUs are free; it grows when their quota is free in its queue of Kueue, without a preemption of others.',
  WaitingForSave: 'The missing GPUs are free; it grows at its next checkpoint.',
};
