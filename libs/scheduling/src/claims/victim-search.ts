/**
 * The gangs that leave room for another one at the least total price. Pure; searches of nodes are asked for, because a large one runs in another
 * process. A set counts only if the placement search finds nodes on the fabric without it. The answer is exact while the number of sets and searches
 * stays within bounds; beyond them it is the cheapest set that was found, from which no gang can be left out.
 */
import type { NodeQuestion } from '../gang-request.ts';
import type { GpusByNode } from '../promises/node-promise.ts';
import type { ClaimQuestion, FoundNodes, RunningGang } from './claim.ts';
import { gpusOfGang, priceOf } from './price.ts';
import { isEnough, type PricedGang, type Scope, scopesOf, usedWithout } from './scopes.ts';

/** Gangs that leave, and the nodes that the claimant then gets. */
export interface FoundVictims {
  readonly gangs: readonly RunningGang[];
  readonly price: number;
  readonly found: FoundNodes;
  /** The largest number of GPUs that would then be free in one island. */
  readonly leftTogether: number;
}

/** What came of the search. */
export interface VictimsFound {
  readonly best: FoundVictims | undefined;
  /** The gang could be placed if every gang that may leave did. */
  readonly couldFit: boolean;
}

/** Limits of a search. */
export interface SearchLimits {
  /** Searches of nodes. One takes some milliseconds on a thousand nodes. */
  readonly searches: number;
  /** Sets that are looked at. */
  readonly sets: number;
}

/** Within these a decision stays below half a second on 512 nodes. */
export const SEARCH_LIMITS: SearchLimits = { searches: 48, sets: 20_000 };
/** Sets of the same price and number that are compared by what they leave free. */
const MOST_TIES = 4;
/** Prices that differ by less are equal. */
const SAME_PRICE = 1e-6;

type Searching<T> = Generator<NodeQuestion, T, FoundNodes | undefined>;

/** Searches among `gangs`, which may all leave. `mostGpus`: GPUs that they may give up together. */
export function* searchVictims(
  question: ClaimQuestion,
  gangs: readonly RunningGang[],
  mostGpus: number,
  limits: SearchLimits = SEARCH_LIMITS,
): Searching<VictimsFound> {
  const search = new VictimSearch(question, mostGpus, limits);
  const used = search.usedWithout([]);
  const scopes = scopesOf(question.claimant.request, question.fabric.fabric.nodes, { used, gangs });
  const byBound = scopes.map((scope) => ({ scope, least: leastPrice(scope, 0, scope.need) }));
  for (const { scope, least } of byBound.toSorted((one, other) => one.least - other.least))
    if (least < Infinity) yield* search.within(scope);
  return { best: search.best, couldFit: search.couldFit };
}

/** Lower limit of the price for so much, from the gangs at `from` on: the last one is priced by the part that is needed. */
function leastPrice({ gangs }: Scope, from: number, need: number): number {
  let price = 0;
  let left = need;
  for (let at = from; left > 0; at++) {
    const next = gangs[at];
    if (next === undefined) return Infinity;
    price += next.price * Math.min(1, left / next.leaves);
    left -= next.leaves;
  }
  return price;
}

interface Chosen {
  readonly gangs: readonly PricedGang[];
  readonly price: number;
  readonly leaves: number;
  readonly gpus: number;
}

const NOTHING: Chosen = { gangs: [], price: 0, leaves: 0, gpus: 0 };

function withGang({ gangs, price, leaves, gpus }: Chosen, next: PricedGang): Chosen {
  return {
    gangs: [...gangs, next],
    price: price + next.price,
    leaves: leaves + next.leaves,
    gpus: gpus + gpusOfGang(next.gang),
  };
}

class VictimSearch {
  best: FoundVictims | undefined;
  couldFit = false;
  readonly #question: ClaimQuestion;
  readonly #mostGpus: number;
  #searchesLeft: number;
  #setsLeft: number;
  #tiesLeft = MOST_TIES;

  constructor(question: ClaimQuestion, mostGpus: number, { searches, sets }: SearchLimits) {
    this.#question = question;
    this.#mostGpus = mostGpus;
    this.#searchesLeft = searches;
    this.#setsLeft = sets;
  }

  /** GPUs that are used or held if these gangs leave. */
  usedWithout(gangs: readonly RunningGang[]): GpusByNode {
    const { usedGpus, withHeld, claimant } = this.#question;
    const used = usedWithout(usedGpus, gangs);
    return withHeld === undefined ? used : withHeld(used, claimant.job.uid);
  }

  *within(scope: Scope): Searching<void> {
    const least = leastPrice(scope, 0, scope.need);
    if (this.#isNoBetter(least, 0)) return;
    if (!(yield* this.#first(scope))) return;
    yield* this.#continue(scope, 0, NOTHING);
  }

  /** The cheapest gangs by count; else all, and then without each that is not needed. False: no set of this part is enough. */
  *#first({ gangs, need }: Scope): Searching<boolean> {
    let cheapest = NOTHING;
    for (const next of gangs) {
      if (cheapest.leaves >= need && cheapest.gangs.length > 0) break;
      cheapest = withGang(cheapest, next);
    }
    const all = gangs.map(({ gang }) => gang);
    const first = yield* this.#test(cheapest.gangs.map(({ gang }) => gang));
    const found = first ?? (yield* this.#test(all));
    if (found === undefined) return false;
    yield* this.#leaveOut(found);
    return true;
  }

  /** The gangs that are needed: the dearest is left out first. */
  *#leaveOut(found: readonly RunningGang[]): Searching<void> {
    let needed = found;
    for (const gang of found.toSorted((one, other) => priceOf(other) - priceOf(one))) {
      if (!needed.includes(gang)) continue;
      const fewer = yield* this.#test(needed.filter((one) => one !== gang));
      needed = fewer ?? needed;
    }
  }

  /** Every set of gangs from `from` on beside those that are chosen, unless it cannot be better than the best. */
  *#continue(scope: Scope, from: number, chosen: Chosen): Searching<void> {
    for (let at = from; at < scope.gangs.length && this.#setsLeft > 0 && this.#searchesLeft > 0; at++) {
      const next = scope.gangs[at];
      if (next === undefined) return;
      this.#setsLeft -= 1;
      const least = chosen.price + leastPrice(scope, at, scope.need - chosen.leaves);
      if (this.#isNoBetter(least, chosen.gangs.length + 1)) return;
      const more = withGang(chosen, next);
      if (!this.#isAllowed(more) || this.#isNoBetter(more.price, more.gangs.length)) continue;
      const isFound =
        more.leaves >= scope.need && (yield* this.#test(more.gangs.map(({ gang }) => gang))) !== undefined;
      if (!isFound) yield* this.#continue(scope, at + 1, more);
    }
  }

  #isAllowed({ gangs, gpus }: Chosen): boolean {
    return gangs.length <= this.#question.rules.mostVictims && gpus <= this.#mostGpus;
  }

  /** Whether a set of that price or more, with so many gangs or more, cannot replace the best one. */
  #isNoBetter(price: number, count: number): boolean {
    const { best } = this;
    if (best === undefined || price < best.price - SAME_PRICE) return false;
    if (price > best.price + SAME_PRICE || count > best.gangs.length) return true;
    return count === best.gangs.length && this.#tiesLeft <= 0;
  }

  /** Those of the gangs that leave the nodes that the claimant would get; undefined: it would get none. */
  *#test(gangs: readonly RunningGang[]): Searching<readonly RunningGang[] | undefined> {
    const { claimant, fabric } = this.#question;
    const usedGpus = this.usedWithout(gangs);
    if (this.#searchesLeft <= 0 || !isEnough(claimant.request, fabric.fabric.nodes, usedGpus)) return undefined;
    this.#searchesLeft -= 1;
    const found = yield { job: claimant.job, request: claimant.request, capacity: { ...fabric, usedGpus } };
    if (found === undefined) return undefined;
    this.couldFit = true;
    const on = new Set(found.nodes);
    const needed = gangs.filter(({ gpus }) => [...gpus.keys()].some((name) => on.has(name)));
    this.#keepIfBetter(needed, found);
    return needed;
  }

  #keepIfBetter(gangs: readonly RunningGang[], found: FoundNodes): void {
    const price = gangs.reduce((sum, gang) => sum + priceOf(gang), 0);
    const gpus = gangs.reduce((sum, gang) => sum + gpusOfGang(gang), 0);
    const { mostVictims } = this.#question.rules;
    if (gangs.length === 0 || gangs.length > mostVictims || gpus > this.#mostGpus) return;
    const { best } = this;
    const isTie =
      best !== undefined && Math.abs(price - best.price) <= SAME_PRICE && gangs.length === best.gangs.length;
    if (isTie) this.#tiesLeft -= 1;
    else if (this.#isNoBetter(price, gangs.length)) return;
    const leftTogether = this.#leftTogether(gangs, found);
    if (!isTie || leftTogether > best.leftTogether) this.best = { gangs, price, found, leftTogether };
  }

  /** The largest number of GPUs that are free in one island beside the claimant. */
  #leftTogether(gangs: readonly RunningGang[], { nodes }: FoundNodes): number {
    const used = this.usedWithout(gangs);
    const taken = new Set(nodes);
    const byIsland = new Map<string, number>();
    for (const { name, gpus, island, usable } of this.#question.fabric.fabric.nodes) {
      if (!usable || taken.has(name)) continue;
      byIsland.set(island, (byIsland.get(island) ?? 0) + Math.max(0, gpus - (used.get(name) ?? 0)));
    }
    return Math.max(0, ...byIsland.values());
  }
}
