/** Usual layouts, which are searched first so that the full search can prune early. */
import type { AllowedChoices } from '../contract.ts';
import type { SpaceFacts } from '../space/search-space.ts';

/** Samples of so many tokens rarely want context parallelism. */
const SHORT_SEQUENCE = 8192;
const USUALLY_GOOD = {
  schedules: ['1f1b', 'interleaved-1f1b', 'zbv'],
  recompute: ['none', 'norms', 'full'],
  zeroStages: [1, 2],
} as const;

/** The part of the space with usual choices. All its layouts are in the full space, so pruning stays exact. */
export function warmStartSpaceOf(space: SpaceFacts): SpaceFacts {
  const { allow, pinned } = space;
  const narrowed: AllowedChoices = {
    ...allow,
    schedules: [...among(USUALLY_GOOD.schedules, allow.schedules)],
    recompute: [...among(USUALLY_GOOD.recompute, allow.recompute)],
    zeroStages: [...among(USUALLY_GOOD.zeroStages, allow.zeroStages)],
    partitions: [...among(['even'] as const, allow.partitions)],
    rankOrders: [...among(['tp-cp-dp-pp'] as const, allow.rankOrders)],
    offload: false,
  };
  const context = space.sequenceLength <= SHORT_SEQUENCE ? { context: 1 } : {};
  return { ...space, allow: narrowed, pinned: { ...context, ...pinned } };
}

/** The usual choices that are allowed; all allowed choices if none is usual. */
function among<T>(usual: readonly T[], allowed: readonly T[] | undefined): readonly T[] {
  const both = allowed === undefined ? usual : usual.filter((choice) => allowed.includes(choice));
  return both.length > 0 ? both : (allowed ?? usual);
}
