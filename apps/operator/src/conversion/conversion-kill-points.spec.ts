import type { Checkpoint } from '@coxswain/api-types';
import type { KubeObject } from '@coxswain/kube';
import { podsPath } from '../cluster/paths.ts';
import { CONVERTED, ConversionWorld, namespace } from '../testing/conversion-world.ts';
import { type Kill, MOMENTS, mortal, WRITES } from '../testing/mortal-client.ts';

/** A conversion from its order to the last of its files, and what it left. */
interface Life {
  readonly writes: readonly string[];
  /** Conversions that pods did: each costs a whole save. */
  readonly converted: number;
  /** The status once it was converted. */
  readonly status: unknown;
  readonly checkpoints: readonly string[];
  readonly pods: number;
  readonly wasKilled: boolean;
}

/** The kubelet: each new pod does what it is for, and ends. Returns how many converted. */
async function kubelet(world: ConversionWorld): Promise<number> {
  let converted = 0;
  for (const { metadata, spec, status } of world.pods as readonly (KubeObject & { spec: object; status?: object })[]) {
    if (status !== undefined) continue;
    const isCleaning = JSON.stringify(spec).includes('delete-checkpoint');
    converted += isCleaning ? 0 : 1;
    const message = JSON.stringify(isCleaning ? { version: 1, outcome: 'Deleted', files: 7 } : CONVERTED);
    const ended = { phase: 'Succeeded', containerStatuses: [{ state: { terminated: { message } } }] };
    const created = { creationTimestamp: world.script.clock.now().toISOString() };
    await world.api.patch(
      podsPath({ namespace, name: metadata.name }),
      { metadata: created, status: ended },
      { type: 'merge' },
    );
  }
  return converted;
}

/** The job waits for the conversion until it is there. Then its source goes, and so it has to go too. */
async function live(kill: Kill): Promise<Life> {
  const world = new ConversionWorld();
  await world.begin();
  const own = world.api.writes.length;
  const operator = mortal(world.api, kill);
  world.client = operator.client;
  world.fail();
  let converted = 0;
  let status: unknown;
  for (let round = 0; round < 24; round++) {
    await world.controller.reconcile().catch(() => undefined);
    if (operator.isDead() && world.client === operator.client) {
      world.client = world.api;
      world.fail();
    }
    world.see();
    converted += await kubelet(world);
    if (round === 11) {
      status = withoutTimes(world.converted?.status);
      await world.want(false);
      await world.forgetSource();
      world.see();
    }
    await world.script.clock.advance(61_000);
  }
  return {
    writes: world.api.writes
      .slice(own)
      .filter(({ verb, path }) => WRITES.some((one) => one === verb) && !path.includes('trainingjobs'))
      .map(({ verb, path }) => `${verb} ${path.includes('/pods') ? 'pod' : 'checkpoint'}`),
    ...{ converted, status },
    checkpoints: world.checkpoints.map(({ metadata }) => metadata.name),
    // The cluster collects pods whose Checkpoint is gone.
    pods: world.pods.filter(({ metadata }) =>
      world.checkpoints.some(({ metadata: { uid } }) => metadata.ownerReferences?.some((owner) => owner.uid === uid)),
    ).length,
    wasKilled: operator.isDead(),
  };
}

function withoutTimes(status: Checkpoint['status']): unknown {
  return JSON.parse(JSON.stringify(status), (key, value: unknown) => (key.endsWith('At') ? 'then' : value));
}

describe('an operator that is killed while a checkpoint is converted, or while what was converted is deleted', () => {
  const never = { write: Infinity, moment: 'beforeSend' } as const;
  const order = ['create checkpoint', 'replace checkpoint', 'create pod', 'replace checkpoint', 'delete pod'];
  // The deletion of the source is the test's own.
  const end = ['delete checkpoint', 'replace checkpoint', 'create pod', 'delete checkpoint', 'delete pod'];

  it('does nothing but make object, order, pod and verdict, and take all of them back', async () => {
    const { writes, converted, status, checkpoints, pods } = await live(never);
    expect([writes, converted, checkpoints, pods]).toEqual([[...order, ...end], 1, [], 0]);
    expect(status).toMatchObject({ state: 'Unverified', conversion: { convertedAt: 'then', seconds: 2 } });
  });

  const points = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((write) => MOMENTS.map((moment) => ({ write, moment })));
  it.each(points)('leaves what one that lives leaves: write $write, $moment', async (kill) => {
    const clean = await live(never);
    expect(await live(kill)).toEqual({ ...clean, wasKilled: true, writes: expect.any(Array) as string[] });
  });
});
