/** When did the ranks of the live run get how far? */
import { type Attempt, RUN_MARKS, ranksOfPod, type RunClock, type RunMark } from '@coxswain/api-types';
import { type Facts, placementOf } from '../observation/facts.ts';
import { podsOf } from '../observation/gang.ts';
import { fenceOf, launcherOf } from '../observation/incarnation.ts';
import type { ObservedMarks } from '../observation/observed-marks.ts';
import { type JobRecord, liveAttempt, withLastAttempt } from '../record/job-record.ts';

/** The record with every mark that the whole gang has passed. A recorded mark stays. It costs no write of its own: callers write something else too. */
export function withClock(record: JobRecord, facts: Facts): JobRecord {
  const attempt = liveAttempt(record);
  if (attempt === undefined) return record;
  const marks = marksOfPods(facts, attempt);
  const found = RUN_MARKS.flatMap((mark) => {
    const atMs = gangMark(mark, marks);
    return atMs === undefined ? [] : [[`${mark}At`, new Date(atMs).toISOString()] as const];
  });
  const saves = marks.find((one) => (one?.saves.length ?? 0) > 0)?.saves;
  if (found.length === 0 && saves === undefined) return record;
  const clock: RunClock = {
    ...Object.fromEntries(found),
    ...attempt.clock,
    ...(saves === undefined ? {} : { saves: [...saves] }),
  };
  return withLastAttempt(record, { clock });
}

/** Of each pod that has ranks; undefined for a pod whose launcher has not reported any of this run. */
function marksOfPods(facts: Facts, attempt: Attempt): readonly (ObservedMarks | undefined)[] {
  const { incarnation } = fenceOf(attempt);
  const placement = placementOf(facts, attempt.epoch)?.spec;
  return podsOf(facts, attempt.epoch)
    .filter(({ podIndex }) => placement === undefined || ranksOfPod(placement, podIndex).length > 0)
    .map((pod) => {
      const launcher = launcherOf(facts, pod, attempt);
      return launcher?.incarnation === incarnation ? launcher.marks : undefined;
    });
}

/** The first rank fails; every other mark is passed with the last rank. */
function gangMark(mark: RunMark, pods: readonly (ObservedMarks | undefined)[]): number | undefined {
  const moments = pods.flatMap((marks) => marks?.atMs[mark] ?? []);
  if (moments.length === 0) return undefined;
  if (mark === 'failed') return Math.min(...moments);
  return moments.length < pods.length ? undefined : Math.max(...moments);
}
