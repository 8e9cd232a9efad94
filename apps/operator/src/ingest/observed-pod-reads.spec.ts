import type { KubeObject } from '@coxswain/kube';
import { FakeClock } from '@coxswain/kube/testing';
import type { ObservedPod } from './observed-pod.ts';
import { ObservedPodReads } from './observed-pod-reads.ts';

const aPod = (namespace: string, index: number): KubeObject =>
  ({ metadata: { namespace, name: `p-${index}`, uid: `${namespace}-${index}` } }) as KubeObject;

class Setup {
  readonly clock = new FakeClock();
  readonly asked: { readonly path: string; readonly limit?: number }[] = [];
  readonly warnings: string[] = [];
  readonly pods = new Map<string, readonly KubeObject[]>();
  taken: readonly ObservedPod[] = [];
  readonly failing = new Set<string>();
  readonly reads: ObservedPodReads;
  #running: Promise<void> | undefined;
  readonly #stopping = new AbortController();

  constructor(namespaces: readonly string[] = ['research', 'vision']) {
    const list = async (path: string, { limit = 0, continue: from = '0' }: { limit?: number; continue?: string }) => {
      this.asked.push({ path, limit });
      const namespace = path.split('/')[4] ?? '';
      if (this.failing.has(namespace)) throw new Error('etcd has no leader');
      const all = this.pods.get(namespace) ?? [];
      const end = Number(from) + limit;
      return { metadata: end < all.length ? { continue: String(end) } : {}, items: all.slice(Number(from), end) };
    };
    this.reads = new ObservedPodReads({
      client: { list } as never,
      clock: this.clock,
      isLeading: () => true,
      namespaces,
      take: (pods) => (this.taken = pods),
      warn: (message) => this.warnings.push(message),
    });
  }

  /** So much time passes, and what was asked for then is answered. */
  async pass(ms: number): Promise<void> {
    this.#running ??= this.reads.run(this.#stopping.signal);
    for (let passed = 0; passed < ms; passed += 250) await this.clock.advance(250);
  }

  stop(): void {
    this.#stopping.abort();
  }
}

let setup: Setup;
afterEach(() => setup.stop());

describe('pods that are observed', () => {
  it('are read in the named namespaces alone, in small pages', async () => {
    setup = new Setup(['research']);
    setup.pods.set(
      'research',
      Array.from({ length: 45 }, (_, index) => aPod('research', index)),
    );
    await setup.pass(250);
    expect(setup.taken).toHaveLength(45);
    const path = '/api/v1/namespaces/research/pods';
    expect(setup.asked).toEqual([
      { path, limit: 20 },
      { path, limit: 20 },
      { path, limit: 20 },
    ]);
  });

  it('are bounded in each namespace, and the log says which has more', async () => {
    setup = new Setup();
    setup.pods.set(
      'research',
      Array.from({ length: 3_000 }, (_, index) => aPod('research', index)),
    );
    setup.pods.set('vision', [aPod('vision', 0)]);
    await setup.pass(16_000);
    expect(setup.taken).toHaveLength(2_501);
    expect(setup.warnings).toEqual([expect.stringMatching(/^namespace research has more than 2500 pods/)]);
  });

  it('stay as they were read while the API server does not answer, and the log says so once', async () => {
    setup = new Setup();
    for (const namespace of ['research', 'vision']) setup.pods.set(namespace, [aPod(namespace, 0)]);
    await setup.pass(250);
    setup.failing.add('research');
    setup.pods.set('vision', []);
    await setup.pass(40_000);
    expect(setup.taken.map(({ uid }) => uid)).toEqual(['research-0']);
    expect(setup.warnings).toEqual(['pods to observe in namespace research cannot be read: etcd has no leader']);
  });

  it('are read soon after an unknown pod has reported, once for each pod', async () => {
    setup = new Setup(['research']);
    await setup.pass(250);
    for (let second = 0; second < 10; second += 1) {
      setup.reads.hurry('without-label');
      await setup.pass(1_000);
    }
    expect(setup.asked).toHaveLength(2);
    setup.reads.hurry('another');
    await setup.pass(1_000);
    expect(setup.asked).toHaveLength(3);
  });
});
