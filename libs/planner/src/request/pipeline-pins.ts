/** Rejects pinned schedules, chunks and pipelines that contradict each other. */
import type { Violation } from '@coxswain/domain-error';
import type { PinnedAxes, PlanRequest } from '../contract.ts';
import type { Schedule } from '../facts.ts';
import { isVShaped } from '../stages.ts';

/** Whether pins need a pipeline: several chunks, or a schedule other than 1f1b. */
export function wantsPipeline({ schedule, chunks = 1 }: PinnedAxes): boolean {
  return chunks > 1 || (schedule !== undefined && schedule !== '1f1b');
}

/** One violation for each contradiction between pinned schedule, chunks and pipeline. */
export function pipelinePins({ pinned = {} }: PlanRequest): readonly Violation[] {
  const { schedule, chunks, pipeline } = pinned;
  if (pipeline === 1 && wantsPipeline(pinned)) {
    const what = schedule === undefined || schedule === '1f1b' ? `chunks ${chunks ?? 1}` : `schedule ${schedule}`;
    return [
      {
        pointer: '/pinned/pipeline',
        detail: `${what} needs at least 2 pipeline stages, but pipeline is 1; remove one of them`,
      },
    ];
  }
  if (schedule === undefined || chunks === undefined || hasChunks(schedule, chunks)) return [];
  const has = schedule === 'interleaved-1f1b' ? 'more than 1' : isVShaped(schedule) ? '2' : '1';
  return [
    {
      pointer: '/pinned/chunks',
      detail: `schedule ${schedule} needs ${has} chunks per rank, not ${chunks}; remove one of them`,
    },
  ];
}

function hasChunks(schedule: Schedule, chunks: number): boolean {
  if (schedule === 'interleaved-1f1b') return chunks > 1;
  return chunks === (isVShaped(schedule) ? 2 : 1);
}
