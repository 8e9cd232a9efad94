/** How does each gang that makes room go on? Elsewhere at once, on fewer GPUs, or in line. */
import { worldSize } from '@coxswain/layout';
import type { GangRequest, NodeQuestion } from '../gang-request.ts';
import type { GpusByNode } from '../promises/node-promise.ts';
import type { ClaimQuestion, ChosenVictim, FoundNodes, RunningGang } from './claim.ts';
import { deadlineSeconds, gpusOfGang, lostSeconds, priceOf } from './price.ts';
import { isEnough, usedWithout } from './scopes.ts';
import type { FoundVictims } from './victim-search.ts';

type Searching<T> = Generator<NodeQuestion, T, FoundNodes | undefined>;

/** Searches of nodes for all gangs of a claim; those that are left then wait. */
const MOST_SEARCHES = 16;

/**
 * The gangs in the order in which they choose: the highest priority first, then the largest. Each takes what is left beside the claimant and the
 * gangs before it. Going on elsewhere is best for a gang, then fewer GPUs, then the line: the GPU time that it loses is nearly the same.
 */
export function* waysOut(question: ClaimQuestion, { gangs, found }: FoundVictims): Searching<readonly ChosenVictim[]> {
  let used = withGang(usedWithout(question.usedGpus, gangs), found, question.claimant.request);
  let searches = MOST_SEARCHES;
  const victims: ChosenVictim[] = [];
  const inOrder = gangs.toSorted((one, other) => other.priority - one.priority || gpusOfGang(other) - gpusOfGang(one));
  for (const gang of inOrder) {
    let way: Pick<ChosenVictim, 'wayOut' | 'toGpus'> = { wayOut: 'Wait' };
    for (const { toGpus, request } of sizesOf(gang)) {
      const usedGpus = question.withHeld?.(used, gang.job.uid) ?? used;
      if (searches <= 0 || !isEnough(request, question.fabric.fabric.nodes, usedGpus)) continue;
      searches -= 1;
      const elsewhere = yield { job: gang.job, request, capacity: { ...question.fabric, usedGpus } };
      if (elsewhere === undefined) continue;
      way = toGpus === undefined ? { wayOut: 'Move' } : { wayOut: 'Shrink', toGpus };
      used = withGang(used, elsewhere, request);
      break;
    }
    victims.push(victimOf(gang, way, question));
  }
  return victims;
}

/** All of its GPUs, then each smaller size that it accepts. */
function sizesOf({ request, smaller }: RunningGang): readonly { toGpus?: number; request: GangRequest }[] {
  return [{ request }, ...smaller.map(({ gpus, request: fewer }) => ({ toGpus: gpus, request: fewer }))];
}

/** The used GPUs with those of the gang on these nodes. */
function withGang(used: GpusByNode, { nodes, ranksPerPod }: FoundNodes, { layout }: GangRequest): GpusByNode {
  const ranks = worldSize(layout);
  const all = new Map(used);
  for (const [pod, name] of nodes.entries())
    all.set(name, (all.get(name) ?? 0) + Math.min(ranksPerPod, ranks - pod * ranksPerPod));
  return all;
}

function victimOf(
  gang: RunningGang,
  way: Pick<ChosenVictim, 'wayOut' | 'toGpus'>,
  { rules }: ClaimQuestion,
): ChosenVictim {
  const { namespace, name, uid } = gang.job;
  const reshard = way.wayOut === 'Shrink' ? gpusOfGang(gang) * rules.reshardSeconds : 0;
  return {
    namespace,
    name,
    uid,
    epoch: gang.epoch,
    ...way,
    priceGpuSeconds: Math.round(priceOf(gang) + reshard),
    lostSeconds: Math.round(lostSeconds(gang)),
    savesWhenAsked: gang.savesWhenAsked,
    ...(gang.waitsForSave === undefined ? {} : { waitsForSave: gang.waitsForSave }),
    deadlineSeconds: deadlineSeconds(gang, rules),
  };
}
