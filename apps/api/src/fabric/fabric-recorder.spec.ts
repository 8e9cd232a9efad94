import { aFabricNode } from '@coxswain/fabric/testing';
import { FakeClock } from '@coxswain/kube/testing';
import { FabricRecorder } from './fabric-recorder.ts';
import type { Sight } from './seen-nodes.ts';
import type { DigestedFabric } from './snapshot-store.ts';

const LOOK_MS = 30_000;
const island = (name: string): Sight => ({ fabric: { nodes: [aFabricNode({ island: name })] }, isStale: false });
const [A, B, C] = [island('a'), island('b'), island('c')];
const STALE: Sight = { fabric: { nodes: [] }, isStale: true };
const UNSEEN: Sight = { problem: 'the nodes of the cluster cannot be read' };

/** What was written, look by look: islands that were recorded, with looks that were not; `=`: seen again. */
async function written(sights: readonly Sight[], { isFull = false, newest = '' } = {}): Promise<readonly string[]> {
  const clock = new FakeClock();
  const told: string[] = [];
  let sight: Sight = UNSEEN;
  const islands = ({ chunks }: DigestedFabric): string => chunks.map(({ nodes }) => nodes[0]?.place.island).join();
  const recorder = new FabricRecorder({
    clock,
    logger: { info: () => undefined, warn: () => undefined } as never,
    nodes: { look: () => Promise.resolve(sight) },
    store: {
      newest: () => Promise.resolve(newest === '' ? undefined : newest),
      seeAgain: () => Promise.resolve(void told.push('=')),
      record: (fabric, unrecorded) => {
        if (!isFull) told.push(`${islands(fabric)}${unrecorded === 0 ? '' : ` after ${unrecorded}`}`);
        return Promise.resolve(!isFull);
      },
    },
  });
  for (const next of sights) {
    sight = next;
    await recorder.look();
    await clock.advance(LOOK_MS);
  }
  return told;
}

const times = (count: number, ...sights: readonly Sight[]): readonly Sight[] =>
  Array.from({ length: count }, () => sights).flat();

describe('the recorder of the fabric', () => {
  it.each<[string, readonly Sight[], readonly string[]]>([
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
  ])('%s', async (_sentence, sights, want) => {
    expect(await written(sights)).toEqual(want);
  });

  it('goes on trying where no more may be recorded yet', async () => {
    expect(await written([A, A, A], { isFull: true })).toEqual([]);
  });

  it('writes nothing anew that a process before it recorded, and waits before it records another', async () => {
    expect(await written([A, A, B, B], { newest: 'of another fabric' })).toEqual(['a after 1', 'b after 1']);
  });
});
