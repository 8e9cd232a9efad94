import { aFabricNode } from '@coxswain/fabric/testing';
import { FakeClock } from '@coxswain/kube/testing';
import { FabricRecorder } from './fabric-recorder.ts';
import type { FabricObservation } from './seen-nodes.ts';
import type { DigestedFabric } from './snapshot-store.ts';

const OBSERVE_MS = 30_000;
const island = (name: string): FabricObservation => ({
  fabric: { nodes: [aFabricNode({ island: name })] },
  windows: new Map(),
  isStale: false,
});
const [A, B, C] = [island('a'), island('b'), island('c')];
const STALE: FabricObservation = { fabric: { nodes: [] }, windows: new Map(), isStale: true };
const UNSEEN: FabricObservation = { problem: 'the nodes of the cluster cannot be read' };

/** What was written, look by look: islands that were recorded, with looks that were not; `=`: seen again. */
async function written(
  observations: readonly FabricObservation[],
  { isFull = false, newest = '' } = {},
): Promise<readonly string[]> {
  const clock = new FakeClock();
  const writes: string[] = [];
  let observation: FabricObservation = UNSEEN;
  const islands = ({ chunks }: DigestedFabric): string => chunks.map(({ nodes }) => nodes[0]?.place.island).join();
  const recorder = new FabricRecorder({
    clock,
    logger: { info: () => undefined, warn: () => undefined } as never,
    nodes: { observe: () => Promise.resolve(observation) },
    store: {
      newest: () => Promise.resolve(newest === '' ? undefined : newest),
      seeAgain: () => Promise.resolve(void writes.push('=')),
      record: (fabric, unrecorded) => {
        if (!isFull) writes.push(`${islands(fabric)}${unrecorded === 0 ? '' : ` after ${unrecorded}`}`);
        return Promise.resolve(!isFull);
      },
    },
  });
  for (const next of observations) {
    observation = next;
    await recorder.recordChange();
    await clock.advance(OBSERVE_MS);
  }
  return writes;
}

const times = (count: number, ...observations: readonly FabricObservation[]): readonly FabricObservation[] =>
  Array.from({ length: count }, () => observations).flat();

describe('the recorder of the fabric', () => {
  it.each<[string, readonly FabricObservation[], readonly string[]]>([
    ['records at once what it sees first', [A], ['a']],
    ['writes nothing while nothing changes', times(19, A), ['a']],
    ['says every ten minutes that it is still so', times(42, A), ['a', '=', '=']],
    ['records what two looks agree on', [A, B, B, B], ['a', 'b after 1']],
    [
      'does not record what is gone at the next look, and tells of it with what comes',
      [A, B, A, C, C],
      ['a', 'c after 2'],
    ],
    ['records what never rests as it is after five minutes', [A, ...times(6, B, C)], ['a', 'b after 10']],
    ['keeps to what it knows while the cluster is not heard', [A, UNSEEN, STALE, UNSEEN, A], ['a']],
  ])('%s', async (_sentence, observations, want) => {
    expect(await written(observations)).toEqual(want);
  });

  it('goes on trying where no more may be recorded yet', async () => {
    expect(await written([A, A, A], { isFull: true })).toEqual([]);
  });

  it('writes nothing anew that a process before it recorded, and waits before it records another', async () => {
    expect(await written([A, A, B, B], { newest: 'of another fabric' })).toEqual(['a after 1', 'b after 1']);
  });
});
