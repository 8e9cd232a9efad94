/** The environment variables of a process of the engine. */
import type { TORCH_RANK_ENV } from '@coxswain/api-types';
import type { Variables } from './engine-run.ts';
import type { RendezvousAddress } from './rendezvous.ts';

/** The ranks of this pod. */
export interface OwnRanks {
  /** Global, ascending; they need not follow each other. */
  readonly ranks: readonly number[];
  readonly worldSize: number;
  readonly podIndex: number;
  readonly podCount: number;
  readonly incarnation: number;
}

type TorchVariables = Readonly<Record<keyof typeof TORCH_RANK_ENV, string>>;

/** A pod among those that have ranks. */
interface Group {
  readonly rank: number;
  readonly count: number;
}

/** The variables that torchrun would set for the rank. */
export function variablesOfRank(own: OwnRanks, localRank: number, address: RendezvousAddress): TorchVariables {
  return {
    RANK: String(own.ranks[localRank]),
    LOCAL_RANK: String(localRank),
    ...variablesOfPod(own, { rank: own.podIndex, count: own.podCount }, address),
  };
}

/** The same variables without those that differ between the ranks of a pod. */
export function variablesOfPod(
  own: OwnRanks,
  group: Group,
  address: RendezvousAddress,
): Omit<TorchVariables, 'RANK' | 'LOCAL_RANK'> {
  return {
    WORLD_SIZE: String(own.worldSize),
    LOCAL_WORLD_SIZE: String(own.ranks.length),
    GROUP_RANK: String(group.rank),
    GROUP_WORLD_SIZE: String(group.count),
    MASTER_ADDR: address.host,
    MASTER_PORT: String(address.port),
    TORCHELASTIC_RESTART_COUNT: String(own.incarnation - 1),
  };
}

/**
 * Which of the equal blocks of ranks is this pod's: torchrun gives rank `block * ranks of a pod + n` to the nth of it. Undefined where ranks lie otherwise; whether
 * the blocks of other pods are as large, their launchers see.
 */
export function blockOf({ ranks, worldSize }: OwnRanks): Group | undefined {
  const [first = 0] = ranks;
  const isBlock = ranks.every((rank, index) => rank === first + index) && first % ranks.length === 0;
  return isBlock && worldSize % ranks.length === 0
    ? { rank: first / ranks.length, count: worldSize / ranks.length }
    : undefined;
}

/** Without what a rank alone may have. A hook that Python loads by itself sleeps in a process without RANK. */
export function withoutRank(environment: Variables): Variables {
  const { RANK: _rank, LOCAL_RANK: _localRank, ...rest } = environment;
  return rest;
}
