import type { Checkpoint } from '@coxswain/api-types';
import { aVerification } from '@coxswain/api-types/testing';
import type { KubeObject } from '@coxswain/kube';
import { podsPath } from '../cluster/paths.ts';
import { MOMENTS, mortal, WRITES, type Kill } from '../testing/mortal-client.ts';
import { DAMAGED, namespace, SOUND, VerificationWorld } from '../testing/verification-world.ts';

/** A verification from the first pod to the last, and what it left. */
interface Life {
  readonly writes: readonly string[];
  /** Verdicts that reached the status, in order: their times differ. */
  readonly verdicts: readonly string[];
  readonly status: unknown;
  readonly pods: number;
  readonly wasKilled: boolean;
}

/** The kubelet of one node: the first pod reads other bytes there; that of another node, which may not run there, reads the right ones. */
async function kubelet(world: VerificationWorld): Promise<void> {
  for (const { metadata, spec, status } of world.pods as readonly (KubeObject & { spec: object; status?: object })[]) {
    if (status !== undefined) continue;
    const isSecond = JSON.stringify(spec).includes('NotIn');
    const message = JSON.stringify({ version: 1, verification: isSecond ? SOUND : DAMAGED });
    const ended = { phase: 'Succeeded', containerStatuses: [{ state: { terminated: { message } } }] };
    const more = {
      metadata: { creationTimestamp: world.script.clock.now().toISOString() },
      spec: { nodeName: isSecond ? 'node-b' : 'node-a' },
      status: ended,
    };
    await world.api.patch(podsPath({ namespace, name: metadata.name }), more, { type: 'merge' });
  }
}

async function live(kill: Kill): Promise<Life> {
  const world = new VerificationWorld();
  const operator = mortal(world.api, kill);
  world.client = operator.client;
  world.fail();
  await world.checkpoint({ verify: 'V3', status: { state: 'Complete', verification: aVerification() } });
  const verdicts: string[] = [];
  for (let round = 0; round < 12; round++) {
    await world.reconcile().catch(() => undefined);
    if (operator.isDead() && world.client === operator.client) {
      world.client = world.api;
      world.fail();
    }
    await kubelet(world);
    const { verdict = '', at = '' } = world.status()?.verification ?? {};
    if (verdicts.at(-1) !== `${verdict} ${at}`) verdicts.push(`${verdict} ${at}`);
    await world.script.clock.advance(1_000);
  }
  return {
    writes: world.api.writes.filter(({ verb }) => WRITES.some((one) => one === verb)).map(({ verb }) => verb),
    verdicts: verdicts.map((one) => one.replace(/ .*/, '')),
    status: withoutTimes(world.status()),
    pods: world.pods.length,
    wasKilled: operator.isDead(),
  };
}

function withoutTimes(status: Checkpoint['status']): unknown {
  return JSON.parse(JSON.stringify(status), (key, value: unknown) => (key === 'at' ? 'then' : value));
}

describe('an operator that is killed while a checkpoint is verified', () => {
  const never = { write: Infinity, moment: 'beforeSend' } as const;
  const one = ['create', 'replace', 'delete'];

  it('does nothing but make the pod, write the verdict and delete the pod, on each of two nodes', async () => {
    const { writes, verdicts, pods } = await live(never);
    // The first creation is the test's own.
    expect([writes, verdicts, pods]).toEqual([['create', ...one, ...one], ['sound', 'damaged', 'sound'], 0]);
  });

  const points = [0, 1, 2, 3, 4, 5].flatMap((write) => MOMENTS.map((moment) => ({ write, moment })));
  it.each(points)('leaves what one that lives leaves: write $write, $moment', async (kill) => {
    const clean = await live(never);
    expect(await live(kill)).toEqual({ ...clean, wasKilled: true, writes: expect.any(Array) as string[] });
  });

  it('writes no verdict twice', async () => {
    const clean = await live(never);
    for (const kill of points) {
      const { writes } = await live(kill);
      const replaced = (all: readonly string[]): number => all.filter((verb) => verb === 'replace').length;
      expect(replaced(writes)).toBe(replaced(clean.writes));
    }
  });
});
