import type { JobName } from '../gang-request.ts';
import type { NodePromise } from './node-promise.ts';
import type { PromiseInput, WaitingGang } from './promise-input.ts';

/** Why the job starts later than it was promised, in a sentence. Jobs of other projects are not named. */
export function whyMoved(
  before: NodePromise,
  about: { readonly gang: WaitingGang; readonly input: PromiseInput },
): string {
  const { gang, input } = about;
  const usable = new Set(
    input.capacityOf(gang.request).fabric.nodes.flatMap(({ name, usable }) => (usable ? [name] : [])),
  );
  const lost = [...before.gpus.keys()].find((name) => !usable.has(name));
  if (lost !== undefined) return `Node ${lost}, which was held for this job, cannot be used any more.`;
  const closed = input.withClosed(new Map(), gang.job.uid);
  const inWindow = [...before.gpus.keys()].find((name) => closed.has(name));
  if (inWindow !== undefined)
    return `A window of the Fabric keeps this job off node ${inWindow}, which was held for it.`;
  const startMs = before.start.getTime();
  const late = input.holders
    .filter(({ job, end }) => before.awaits.has(job.uid) && end.at.getTime() > startMs)
    .toSorted((one, other) => other.end.at.getTime() - one.end.at.getTime())[0];
  if (late !== undefined) return `${nameFor(gang.job, late.job)} runs longer than was predicted.`;
  const other = input.holders.find(
    ({ job, gpus }) => !before.awaits.has(job.uid) && [...gpus.keys()].some((name) => isTaken(name, before, input)),
  );
  if (other !== undefined) return `${nameFor(gang.job, other.job)} uses nodes that were held for this job.`;
  return 'Other pods use nodes that were held for this job.';
}

/** Whether more GPUs of a held node are used than were to be used beside the job. */
function isTaken(name: string, { gpus, beyond }: NodePromise, { usedGpus, holders }: PromiseInput): boolean {
  if (!gpus.has(name)) return false;
  return (usedGpus.get(name) ?? 0) > (beyond.get(name) ?? 0) && holders.some((holder) => holder.gpus.has(name));
}

/** How messages to one job name another one: `Job "x"`, or that it is of another project. */
export function nameFor(reader: Pick<JobName, 'namespace'>, { namespace, name }: JobName): string {
  return namespace === reader.namespace ? `Job "${name}"` : 'A job of another project';
}
