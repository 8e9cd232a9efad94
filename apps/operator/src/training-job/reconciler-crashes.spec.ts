import type { Placement } from '@coxswain/api-types';
import type { KubeObject } from '@coxswain/kube';
import type { StoreWrite } from './testing/in-memory-training-job-store.ts';
import { ReconcilerWorld, type PodFate } from './testing/reconciler-world.ts';

class Crash extends Error {}

/** A gang starts, a rank fails in attempt 1, attempt 2 finishes. */
const FATE: PodFate = ({ epoch, podIndex }) => {
  if (epoch > 1) return 0;
  return podIndex === 1 ? 1 : 'runs';
};

/** Plays that life in a world whose operator dies at its `crashAt`-th write, and answers how it ended and how many writes it took. */
async function play(crash?: { readonly at: number; readonly moment: StoreWrite['moment'] }): Promise<Life> {
  const world = new ReconcilerWorld();
  let count = 0;
  const names = new Map<string, string>();
  const broken = new Set<string>();
  world.onWrite = ({ moment }) => {
    if (moment === 'before') count += 1;
    if (crash !== undefined && count === crash.at && moment === crash.moment) {
      crash = undefined;
      throw new Crash('killed');
    }
  };
  for (;;) {
    try {
      await world.live(FATE);
      break;
    } catch (error) {
      if (!(error instanceof Crash)) throw error;
      world.restart();
    }
    for (const pod of world.pods) {
      const known = names.get(pod.metadata.name);
      if (known !== undefined && known !== pod.metadata.uid) broken.add(`${pod.metadata.name} was made twice`);
      names.set(pod.metadata.name, pod.metadata.uid ?? '');
    }
  }
  const { status, metadata } = world.job;
  return {
    writes: count,
    isReached: crash === undefined,
    broken: [...broken],
    end: {
      state: status?.state,
      epoch: status?.epoch,
      restarts: status?.restarts,
      finalizers: metadata.finalizers,
      attempts: status?.attempts?.map(({ epoch, stage, outcome, charged }) => ({ epoch, stage, outcome, charged })),
      pods: world.pods.map((pod) => pod.metadata.name).toSorted(),
      placements: world.cluster
        .list<Placement & KubeObject>('Placement')
        .map(({ metadata: { name }, spec }) => `${name} ${spec.nodes.toSorted().join(' ')}`)
        .toSorted(),
    },
  };
}

interface Life {
  readonly writes: number;
  readonly isReached: boolean;
  readonly broken: readonly string[];
  readonly end: unknown;
}

describe('an operator that dies at a write', () => {
  it.each(['before', 'after'] as const)(
    'is continued by the next one to the same end, whichever write it was: %s it is done',
    async (moment) => {
      const clean = await play();
      expect(clean.end).toMatchObject({ state: 'Complete', epoch: 2, restarts: { total: 1 } });
      const wrong: unknown[] = [];
      for (let at = 1; at <= clean.writes; at += 1) {
        const life = await play({ at, moment });
        expect(life.isReached).toBe(true);
        if (life.broken.length > 0 || JSON.stringify(life.end) !== JSON.stringify(clean.end)) wrong.push({ at, life });
      }
      expect(wrong).toEqual([]);
    },
  );
});
