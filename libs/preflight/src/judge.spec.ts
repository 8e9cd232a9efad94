import type { PreflightFacts, PreflightReport } from '@coxswain/api-types';
import fc from 'fast-check';
import { describeFindings, judgePreflight } from './judge.ts';
import type { ObservedPod } from './judgement.ts';
import { measuredPairs } from './bandwidth.ts';
import { confirmingPeersOf, firstPeersOf } from './pairs.ts';

const GIB = 1024 ** 3;
const usual: PreflightFacts = {
  python: '3.12.3',
  torch: '2.9.0+cu128',
  nccl: '2.27.5',
  cuda: '12.8',
  driver: '570.86.15',
  packagesSha256: 'a'.repeat(64),
  gpus: Array.from({ length: 8 }, () => ({ name: 'H100', memoryBytes: 80 * GIB })),
  sharedMemoryBytes: 64 * GIB,
  memlockBytes: null,
  scratchFreeBytes: 900 * GIB,
  clock: { aheadMs: 0, uncertaintyMs: 0.2 },
};

function gang(podCount: number, changes: Readonly<Record<number, Partial<PreflightFacts>>> = {}): ObservedPod[] {
  return Array.from({ length: podCount }, (_, podIndex) => ({
    podIndex,
    node: `node-${podIndex}`,
    ranks: 8,
    report: { outcome: 'Done', facts: { ...usual, ...changes[podIndex] }, pairs: [], tookMs: 900 },
  }));
}

function withRanks(pods: readonly ObservedPod[], podIndex: number, ranks: number): ObservedPod[] {
  const gpus = usual.gpus?.slice(0, ranks);
  return pods.map((pod) => {
    const report = { ...pod.report, facts: { ...pod.report.facts, gpus } };
    return pod.podIndex === podIndex ? { ...pod, ranks, report } : pod;
  });
}

const everywhere = (podCount: number, change: Partial<PreflightFacts>): Record<number, Partial<PreflightFacts>> =>
  Object.fromEntries(Array.from({ length: podCount }, (_, podIndex) => [podIndex, change]));

describe('a node is named', () => {
  it.each<[string, Partial<PreflightFacts>, RegExp]>([
    ['that shows a GPU less', { gpus: usual.gpus?.slice(1) }, /^7 GPUs are visible where the pod has 8$/],
    ['that shows none', { gpus: [] }, /^0 GPUs are visible/],
    [
      'one of whose GPUs has less memory',
      { gpus: [{ name: 'H100', memoryBytes: 40 * GIB }, ...(usual.gpus ?? []).slice(1)] },
      /^a GPU has 40\.0 GiB of memory where 80\.0 GiB are usual/,
    ],
    ['with a short /dev/shm', { sharedMemoryBytes: 64 * 1024 ** 2 }, /^\/dev\/shm holds 64\.0 MiB where 64\.0 GiB is/],
    [
      'that lets little memory be locked',
      { memlockBytes: 65_536 },
      /\(ulimit -l\) is 64\.0 KiB where unlimited is usual/,
    ],
    ['whose disk is full', { scratchFreeBytes: GIB }, /^free disk for scratch is 1\.0 GiB where 900\.0 GiB is usual/],
    [
      'whose clock is ahead',
      { clock: { aheadMs: 5_010, uncertaintyMs: 1 } },
      /^its clock is 5\.0 s ahead of the usual/,
    ],
    [
      'whose clock is behind',
      { clock: { aheadMs: -5_010, uncertaintyMs: 1 } },
      /^its clock is 5\.0 s behind the usual/,
    ],
    [
      'with another PyTorch',
      { torch: '2.8.0', packagesSha256: 'b'.repeat(64) },
      /^PyTorch is 2\.8\.0 where most .* 2\.9/,
    ],
    ['with another NCCL', { nccl: '2.26.2' }, /^NCCL is 2\.26\.2 where most/],
    ['with other packages', { packagesSha256: 'b'.repeat(64) }, /^its Python packages .* is b{64} where most/],
  ])('%s, and once, wherever it is in the gang', (_sentence, change, message) => {
    for (const [podCount, bad] of [
      [3, 0],
      [3, 1],
      [8, 5],
      [8, 7],
    ] as const) {
      const { findings } = judgePreflight(gang(podCount, { [bad]: change }));
      expect(findings.map(({ node }) => node)).toEqual([`node-${bad}`]);
      expect(findings[0]?.message).toMatch(message);
    }
  });

  it('with everything that speaks against it', () => {
    const { findings } = judgePreflight(gang(4, { 2: { sharedMemoryBytes: GIB, torch: '2.8.0' } }));
    expect(describeFindings(findings)).toBe(
      'Node node-2: /dev/shm holds 1.0 GiB where 64.0 GiB is usual in this gang; PyTorch is 2.8.0 where most of this gang have 2.9.0+cu128.',
    );
  });

  it('with a short /dev/shm, also where it has fewer ranks', () => {
    const { findings } = judgePreflight(withRanks(gang(3, { 2: { sharedMemoryBytes: 64 * 1024 ** 2 } }), 2, 1));
    expect(findings.map(({ message }) => message)).toEqual([
      '/dev/shm holds 64.0 MiB where 8.0 GiB is usual in this gang',
    ]);
  });

  it('where rank 0 itself has the wrong clock', () => {
    const behind = { clock: { aheadMs: -5_000, uncertaintyMs: 1 } };
    const { findings } = judgePreflight(gang(8, { ...everywhere(8, behind), 0: {} }));
    expect(findings.map(({ node }) => node)).toEqual(['node-0']);
  });

  it('that is all of the gang, where less is there than was promised', () => {
    const { findings } = judgePreflight(gang(1, { 0: { gpus: usual.gpus?.slice(1) } }));
    expect(findings.map(({ node }) => node)).toEqual(['node-0']);
  });
});

describe('nobody is named', () => {
  const another = { torch: '2.8.0' };
  it.each<[string, ObservedPod[], readonly RegExp[]]>([
    ['where all are alike', gang(8), []],
    ['where there are no GPUs, and none are needed', gang(8, everywhere(8, { gpus: undefined })), []],
    ['where a pod does not know its GPUs', gang(8, { 3: { gpus: undefined } }), []],
    [
      'where all lack the same GPU',
      gang(4, everywhere(4, { gpus: usual.gpus?.slice(1) })),
      [/^4 pods have the same finding, so Coxswain blames no node: 7 GPUs/],
    ],
    [
      'where two differ and there is no third',
      gang(2, { 1: another }),
      [/^pods differ in PyTorch: 2\.9.* in pod 0, 2\.8/],
    ],
    ['where half have another version', gang(4, { 2: another, 3: another }), [/^pods differ in PyTorch/]],
    ['whose driver is another', gang(8, { 3: { driver: '550.1' } }), [/^node node-3: the NVIDIA driver is 550\.1/]],
    ['whose clock is read badly', gang(8, { 3: { clock: { aheadMs: 5_000, uncertaintyMs: 6_000 } } }), []],
    [
      'who has fewer ranks, and /dev/shm after them',
      withRanks(gang(3, { 2: { sharedMemoryBytes: 8 * GIB } }), 2, 1),
      [],
    ],
    ['who has fewer ranks and as large a /dev/shm', withRanks(gang(3), 2, 1), []],
    ['who knows nothing of itself', gang(8, { 3: everywhereUnknown() }), []],
  ])('%s', (_sentence, pods, notes) => {
    const judgement = judgePreflight(pods);
    expect(judgement.findings).toEqual([]);
    expect(judgement.notes).toHaveLength(notes.length);
    for (const [index, note] of notes.entries()) expect(judgement.notes[index]).toMatch(note);
  });

  it('for what it could not look at, which is noted once', () => {
    const pods = gang(3).map((pod): ObservedPod => {
      const report: PreflightReport = {
        outcome: 'Skipped',
        note: 'python3 is missing',
        facts: {},
        pairs: [],
        tookMs: 3,
      };
      return { ...pod, report };
    });
    expect(judgePreflight(pods)).toEqual({ findings: [], notes: ['3 pods: python3 is missing'] });
  });
});

function everywhereUnknown(): Partial<PreflightFacts> {
  return Object.fromEntries(Object.keys(usual).map((field) => [field, undefined]));
}

/** What a gang reports of which each pair has such a rate: first rounds, then those that follow from them. */
function measuredGang(podCount: number, rateOf: (low: number, high: number, round: number) => number): ObservedPod[] {
  const reports = gang(podCount).map((pod) => ({
    ...pod,
    report: { ...pod.report, pairs: [] as PreflightReport['pairs'] },
  }));
  const run = (peersOf: (pod: number) => readonly (number | null)[], from: number): void => {
    for (const { podIndex, report } of reports) {
      for (const [index, peer] of peersOf(podIndex).entries()) {
        if (peer === null) continue;
        const rate = rateOf(Math.min(podIndex, peer), Math.max(podIndex, peer), from + index);
        report.pairs.push({ peer, round: from + index, bytesPerSecond: rate });
      }
    }
  };
  run((pod) => firstPeersOf(pod, podCount), 0);
  const measured = measuredPairs(reports);
  run((pod) => confirmingPeersOf(pod, { podCount, measured }), 8);
  return reports;
}

const namesOf = (pods: readonly ObservedPod[]): readonly number[] =>
  judgePreflight(pods).findings.map((one) => one.podIndex);

describe('bandwidth', () => {
  const usualRate = 4e10;

  it('names a slow node at any place of a gang of three or more, and none of its partners', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 3, max: 40 }),
        fc.nat(),
        fc.double({ min: 0, max: 0.45, noNaN: true }),
        (podCount, place, share) => {
          const slow = place % podCount;
          const pods = measuredGang(podCount, (low, high) =>
            [low, high].includes(slow) ? share * usualRate : usualRate,
          );
          expect(namesOf(pods)).toEqual([slow]);
        },
      ),
    );
  });

  it('names every slow node of a few, and nobody else', () => {
    fc.assert(
      fc.property(fc.integer({ min: 8, max: 40 }), fc.uniqueArray(fc.nat(39), { maxLength: 2 }), (podCount, places) => {
        const slow = new Set(places.map((place) => place % podCount));
        const pods = measuredGang(podCount, (low, high) => (slow.has(low) || slow.has(high) ? 1e9 : usualRate));
        expect(namesOf(pods).toSorted((one, other) => one - other)).toEqual(
          [...slow].toSorted((one, other) => one - other),
        );
      }),
    );
  });

  it('names nobody who was once as fast as half of what is usual, whatever else was measured', () => {
    const rates = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { minLength: 400, maxLength: 400 });
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 20 }), rates, (podCount, noise) => {
        const pods = measuredGang(
          podCount,
          (low, high, round) => (noise[low * 20 + ((high + round) % 20)] ?? 1) * usualRate,
        );
        const best = pods.map(({ report }) =>
          Math.max(0, ...report.pairs.map(({ bytesPerSecond }) => bytesPerSecond ?? 0)),
        );
        const middle = best.toSorted((one, other) => one - other)[Math.floor(podCount / 2)] ?? 0;
        for (const pod of namesOf(pods)) expect(best[pod]).toBeLessThan(middle / 2);
      }),
    );
  });

  it('names nobody where every transfer is within a factor of two', () => {
    const rates = fc.array(fc.double({ min: 0.5, max: 1, noNaN: true }), { minLength: 400, maxLength: 400 });
    fc.assert(
      fc.property(fc.integer({ min: 2, max: 20 }), rates, (podCount, noise) => {
        const pods = measuredGang(
          podCount,
          (low, high, round) => (noise[low * 20 + ((high + round) % 20)] ?? 1) * usualRate,
        );
        expect(namesOf(pods)).toEqual([]);
      }),
    );
  });

  it('notes a slow way between two pods that are fast with others', () => {
    const pods = measuredGang(8, (low, high) => (low === 0 && high === 7 ? 1e9 : usualRate));
    const { findings, notes } = judgePreflight(pods);
    expect(findings).toEqual([]);
    expect(notes).toEqual(['953.7 MiB/s between node-0 and node-7, which are faster with others']);
  });

  it('does not name who is spoken ill of by one pod: that one stands alone', () => {
    const pods = measuredGang(8, () => usualRate).map((pod): ObservedPod => {
      const pairs = pod.report.pairs.map((pair) => (pod.podIndex === 3 ? { ...pair, bytesPerSecond: 1 } : pair));
      return { ...pod, report: { ...pod.report, pairs } };
    });
    expect(namesOf(pods)).toEqual([]);
  });

  it.each([
    [0.2, [3]],
    [0.3, []],
  ])('without GPUs bears more noise: at %s of what is usual it names %j', (share, want) => {
    const pods = measuredGang(8, (low, high) => ([low, high].includes(3) ? share * usualRate : usualRate));
    const without = pods.map(({ report, ...pod }): ObservedPod => {
      const { gpus: _, ...facts } = report.facts;
      return { ...pod, report: { ...report, facts } };
    });
    expect(namesOf(without)).toEqual(want);
  });

  it('names nobody on the word of a single partner, where there was no time for more', () => {
    const all = measuredGang(4, (low, high) => (low === 0 || high === 0 ? 1e9 : usualRate));
    const pods = all.map((pod): ObservedPod => {
      const pairs = pod.report.pairs.filter(({ peer }) => pod.podIndex !== 0 && peer !== 0);
      return { ...pod, report: { ...pod.report, pairs } };
    });
    const [first, second, ...rest] = pods as [ObservedPod, ObservedPod, ...ObservedPod[]];
    const pair = { peer: 1, round: 0, bytesPerSecond: 1e9 };
    expect(namesOf([{ ...first, report: { ...first.report, pairs: [pair] } }, second, ...rest])).toEqual([]);
  });

  it('counts a transfer that did not come about as slow', () => {
    const pods = measuredGang(6, (low, high) => ([low, high].includes(2) ? 0 : usualRate));
    const findings = judgePreflight(pods).findings;
    expect(findings.map(({ podIndex }) => podIndex)).toEqual([2]);
    expect(findings[0]?.message).toMatch(/^0 B\/s at best with pods/);
  });
});
