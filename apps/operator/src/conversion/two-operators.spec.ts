/** Two operators that both believe to lead, as after a lease that one of them did not renew in time. */
import { type Checkpoint, DeletionAnswer } from '@coxswain/api-types';
import type { KubeObject } from '@coxswain/kube';
import fc from 'fast-check';
import { setImmediate } from 'node:timers/promises';
import { podsPath } from '../cluster/paths.ts';
import { CONVERTED, ConversionWorld, namespace } from '../testing/conversion-world.ts';
import type { Client } from '../testing/mortal-client.ts';

/** Lets one call after the other of all operators through, in an order that the test chooses. */
class Turns {
  readonly #order: readonly boolean[];
  readonly #waiting: { readonly isFirst: boolean; readonly go: () => void }[] = [];
  #turn = 0;

  constructor(order: readonly boolean[]) {
    this.#order = order;
  }

  /** The connection of an operator. */
  connect(api: Client, isFirst: boolean): Client {
    const call = async (send: () => Promise<unknown>): Promise<never> => {
      await new Promise<void>((go) => this.#waiting.push({ isFirst, go }));
      return (await send()) as never;
    };
    return {
      get: (...all) => call(() => api.get(...all)),
      list: (...all) => call(() => api.list(...all)),
      create: (...all) => call(() => api.create(...all)),
      replace: (...all) => call(() => api.replace(...all)),
      delete: (...all) => call(() => api.delete(...all)),
    };
  }

  /** Until the work of all is done. `between` runs after each call. */
  async run(work: readonly Promise<unknown>[], between: () => Promise<void>): Promise<void> {
    let isDone = false;
    void Promise.all(work).then(() => (isDone = true));
    for (;;) {
      await setImmediate();
      if (isDone) return;
      const isFirst = this.#order[this.#turn++ % this.#order.length] ?? true;
      const preferred = this.#waiting.findIndex((one) => one.isFirst === isFirst);
      this.#waiting.splice(Math.max(0, preferred), 1)[0]?.go();
      await setImmediate();
      await between();
    }
  }
}

/** What became of a save and of its conversion. */
interface Outcome {
  readonly source: unknown;
  readonly converted: readonly Checkpoint['status'][];
  /** Directories that pods published, each once. */
  readonly published: readonly string[];
  readonly pods: number;
  /** Each status of the converted Checkpoint after it was converted and before the job let it go. */
  readonly lost: number;
}

async function live(order: readonly boolean[], sees: readonly (readonly [boolean, boolean])[]): Promise<Outcome> {
  const one = new ConversionWorld();
  await one.begin();
  const other = new ConversionWorld(one.api);
  const turns = new Turns(order);
  one.client = turns.connect(one.api, true);
  other.client = turns.connect(one.api, false);
  one.fail();
  other.fail();
  const source = one.source;
  const published: string[] = [];
  let [wasConverted, lost] = [false, 0];
  const look = async (): Promise<void> => {
    await kubelet(one, published);
    const isConverted = one.conversion?.convertedAt !== undefined;
    lost += wasConverted && !isConverted ? 1 : 0;
    wasConverted ||= isConverted;
  };
  const upToDate = [true, true] as const;
  for (const [isOneUpToDate, isOtherUpToDate] of [...sees, upToDate, upToDate, upToDate]) {
    await turns.run(
      [one.controller.reconcile(), other.controller.reconcile()].map((work) => work.catch(() => 0)),
      look,
    );
    // Watches of either can be behind for several rounds.
    if (isOneUpToDate) one.see();
    if (isOtherUpToDate) other.see();
    for (const { script } of [one, other]) await script.clock.advance(61_000);
  }
  return {
    source: JSON.stringify(one.source) === JSON.stringify(source) ? 'as it was' : one.source,
    converted: one.checkpoints.flatMap(({ spec, status }) => (spec.convertedFrom === undefined ? [] : [status])),
    published,
    pods: one.pods.length,
    lost,
  };
}

/** Each new pod publishes what it was ordered, or finds it published, and ends. */
async function kubelet(world: ConversionWorld, published: string[]): Promise<void> {
  for (const { metadata, spec, status } of world.pods as readonly (KubeObject & { spec: object; status?: object })[]) {
    if (status !== undefined) continue;
    const isCleaning = JSON.stringify(spec).includes('delete-checkpoint');
    const { path } = world.converted?.spec ?? { path: 'nowhere' };
    if (isCleaning) published.splice(0);
    else if (!published.includes(path)) published.push(path);
    const message = JSON.stringify(
      isCleaning ? DeletionAnswer.parse({ version: 1, outcome: 'Deleted', files: 7 }) : CONVERTED,
    );
    const ended = { phase: 'Succeeded', containerStatuses: [{ state: { terminated: { message } } }] };
    const created = { creationTimestamp: world.script.clock.now().toISOString() };
    const place = podsPath({ namespace, name: metadata.name });
    await world.api.patch(place, { metadata: created, status: ended }, { type: 'merge' });
  }
}

describe('two operators that convert the same save at the same time', () => {
  it('publish one conversion, record it once, and leave the save as it was, in whatever order their calls arrive', async () => {
    const bits = fc.array(fc.boolean(), { minLength: 8, maxLength: 24 });
    const rounds = fc.array(fc.tuple(fc.boolean(), fc.boolean()), { minLength: 5, maxLength: 10 });
    await fc.assert(
      fc.asyncProperty(bits, rounds, async (order, sees) => {
        const { source, converted, published, pods, lost } = await live(order, sees);
        expect({ source, published: published.length, pods, lost }).toEqual({
          ...{ source: 'as it was', published: 1, pods: 0, lost: 0 },
        });
        expect(converted).toEqual([
          expect.objectContaining({
            state: 'Unverified',
            conversion: expect.objectContaining({ convertedAt: expect.any(String) as string, seconds: 2 }) as object,
          }),
        ]);
      }),
      { numRuns: 25 },
    );
  });
});
