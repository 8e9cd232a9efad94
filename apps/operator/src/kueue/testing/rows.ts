import type { TrainingJob } from '@coxswain/api-types';
import { is, type KueueGround } from './kueue-ground.ts';

/** One thing that is shown with the real Kueue. */
export interface Row {
  readonly sentence: string;
  /** Whether the row starts operators itself, to kill them. */
  readonly ownOperator?: boolean;
  /** Rejects when the sentence does not hold; resolves with what was measured, if anything was. */
  run(ground: KueueGround): Promise<string | undefined>;
}

/** Throws with the sentence unless it is so. */
export function must(isSo: boolean, sentence: string): void {
  if (!isSo) throw new Error(sentence);
}

/** Watches for so long that it stays so. */
export async function stays(ms: number, sentence: string, isSo: () => Promise<boolean>): Promise<void> {
  const startedMs = performance.now();
  while (performance.now() - startedMs < ms) {
    must(await isSo(), sentence);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** The conditions of the Workload that are true, with their messages, for who reads why a row failed. */
export async function described(ground: KueueGround, job: TrainingJob): Promise<string> {
  const { conditions = new Map() } = (await ground.workload(job)) ?? {};
  const held = [...conditions].flatMap(([type, { isTrue, message }]) => (isTrue ? `${type} (${message})` : []));
  return `${job.metadata.name}: ${held.join(', ') || 'no condition'}`;
}

/** The gang of that epoch still runs, and was not asked to stop. */
export async function stillRuns(ground: KueueGround, job: TrainingJob, epoch = 1): Promise<boolean> {
  const { status } = await ground.read(job);
  const last = status?.attempts?.at(-1);
  return last?.epoch === epoch && last.stage === 'Released';
}

/** Waits until the job runs and its Workload is admitted. */
export async function admitted(ground: KueueGround, job: TrainingJob): Promise<void> {
  await ground.runs(job);
  await ground.workloadUntil(job, 'admitted', (found) => is(found, 'Admitted'));
}

/** Seconds with one digit since then. */
export function since(startedMs: number): string {
  return `${((performance.now() - startedMs) / 1000).toFixed(1)} s`;
}
