/** Which attempts began from which checkpoint. */
import { nameOfRun, type Attempt, type CheckpointRecord } from '@coxswain/api-types';

/** Names of runs by the checkpoint that they began from, oldest first: `1.2` is incarnation 2 of attempt 1. */
export function startedFrom(attempts: readonly Attempt[]): ReadonlyMap<string, readonly string[]> {
  const runs = attempts.flatMap((attempt) => [
    ...(attempt.incarnations ?? []).map((run) => ({ run, epoch: attempt.epoch })),
    { run: attempt, epoch: attempt.epoch },
  ]);
  const byCheckpoint = new Map<string, string[]>();
  for (const { run, epoch } of runs) {
    if (run.resumedFrom === undefined || run.memorySave !== undefined) continue;
    const { checkpoint } = run.resumedFrom;
    byCheckpoint.set(checkpoint, [...(byCheckpoint.get(checkpoint) ?? []), nameOfRun(epoch, run.incarnation)]);
  }
  return byCheckpoint;
}

/** The checkpoint that the run which saved this one began from; null: it began from scratch; undefined: that run is not recorded any more. */
export function baseOf(
  { epoch, incarnation }: Pick<CheckpointRecord, 'epoch' | 'incarnation'>,
  attempts: readonly Attempt[],
): { readonly checkpoint: string; readonly step: number } | null | undefined {
  const attempt = attempts.find((one) => one.epoch === epoch);
  if (attempt === undefined) return undefined;
  const number = incarnation ?? 1;
  const runs = [...(attempt.incarnations ?? []), attempt];
  const runOf = (wanted: number): (typeof runs)[number] | undefined =>
    runs.find((one) => (one.incarnation ?? 1) === wanted);
  let run = runOf(number);
  // What began from memory went on with an earlier run, so it has the checkpoint of that one.
  while (run?.memorySave !== undefined && run.memorySave.incarnation < (run.incarnation ?? 1))
    run = runOf(run.memorySave.incarnation);
  return run === undefined ? undefined : (run.resumedFrom ?? null);
}
