import type { FabricChanges, FabricSnapshot, RecordedFabric } from '@coxswain/api-types';
import { type Outcome, type Routes, runCommand } from '../testing/run-command.ts';

const SNAPSHOTS = 'GET /v1/fabric/snapshots';
const ID = '3f1c2b9e-0000-4000-8000-000000000001';
const EARLIER = '3f1c2b9e-0000-4000-8000-000000000000';

function aSnapshot(changes: Partial<FabricSnapshot> = {}): FabricSnapshot {
  return {
    id: ID,
    takenAt: '2026-01-08T12:00:00.000Z',
    seenUntil: '2026-01-09T23:50:00.000Z',
    nodes: 3,
    gpus: 24,
    islands: 1,
    nvlinkDomains: 0,
    changes: { came: 1, gone: 0, changed: 2 },
    unrecordedLooks: 0,
    ...changes,
  };
}

const FIRST = aSnapshot({ id: EARLIER, takenAt: '2026-01-01T00:00:00.000Z', changes: null, unrecordedLooks: 2 });
const CHANGES: FabricChanges = {
  before: FIRST,
  after: aSnapshot(),
  came: 1,
  gone: 0,
  changed: 5,
  hasMore: false,
  changes: [
    {
      kind: 'changed',
      nodeCount: 5,
      nodes: ['gpu-a', 'gpu-b', 'gpu-c', 'gpu-d', 'gpu-e'],
      facts: [
        { fact: 'switches', before: 'topograph:tier-1=s0/tier-0=l0', after: 'topograph:tier-1=s0/tier-0=l9' },
        { fact: 'nicType', before: 'roce', after: null },
      ],
    },
    { kind: 'came', nodeCount: 1, nodes: ['gpu-z'], facts: [{ fact: 'gpus', before: null, after: '8' }] },
  ],
};

const at = (time: string): string => `${SNAPSHOTS}?until=${encodeURIComponent(time)}&pageSize=1`;
const run = (argv: string, routes: Routes): Promise<Outcome> => runCommand(`fabric ${argv}`, routes);

describe('coxswain fabric history', () => {
  it('tells when the fabric changed, newest first', async () => {
    const { out, code } = await run('history --since 30d', {
      [`${SNAPSHOTS}?since=${encodeURIComponent('2025-12-11T00:00:00.000Z')}&pageSize=50`]: {
        json: { items: [aSnapshot(), FIRST] },
      },
    });
    expect(code).toBe(0);
    expect(out).toBe(`TAKEN (UTC)          SEEN UNTIL           NODES  GPUS  ISLANDS  NVLINK  CAME  GONE  CHANGED  NOTE
2026-01-08 12:00:00  2026-01-09 23:50:00  3      24    1        0       1     0     2
2026-01-01 00:00:00  2026-01-09 23:50:00  3      24    1        0       -     -     -        2 earlier observations not recorded`);
  });

  it('says where there is nothing', async () => {
    const { out } = await run('history', { [`${SNAPSHOTS}?pageSize=50`]: { json: { items: [] } } });
    expect(out).toBe('The server recorded no change of the fabric in that time.');
  });
});

describe('coxswain fabric changes', () => {
  it('tells the last change: which nodes, which facts, what they were and what they are', async () => {
    const { out } = await run('changes', {
      [at('2026-01-10T00:00:00.000Z')]: { json: { items: [aSnapshot()] } },
      [`${SNAPSHOTS}/${ID}/changes`]: { json: CHANGES },
    });
    expect(out).toBe(`2026-01-08 12:00:00 UTC, since 2026-01-01 00:00:00 UTC: 1 node came, 0 went, 5 changed.

5 nodes changed: gpu-a, gpu-b, gpu-c, gpu-d and 1 more
  switches  topograph:tier-1=s0/tier-0=l0 -> topograph:tier-1=s0/tier-0=l9
  nicType   roce -> nobody says

1 node came: gpu-z
  gpus  8`);
  });

  it('compares two times', async () => {
    const { out } = await run('changes --from 5d --to 2026-01-09T00:00:00Z -o json', {
      [at('2026-01-05T00:00:00.000Z')]: { json: { items: [FIRST] } },
      [at('2026-01-09T00:00:00.000Z')]: { json: { items: [aSnapshot()] } },
      [`${SNAPSHOTS}/${ID}/changes?since=${EARLIER}`]: { json: CHANGES },
    });
    expect(JSON.parse(out)).toEqual(CHANGES);
  });

  it('says of a time before anything was recorded what to ask', async () => {
    const { err, code } = await run('changes --from 300d', {
      [at('2026-01-10T00:00:00.000Z')]: { json: { items: [aSnapshot()] } },
      [at('2025-03-16T00:00:00.000Z')]: { json: { items: [] } },
    });
    expect({ err, code }).toEqual({
      code: 1,
      err: 'The server recorded no fabric at 2025-03-16 00:00:00 UTC; `coxswain fabric history` lists the recorded times.',
    });
  });
});

describe('coxswain fabric show --at', () => {
  const recorded: RecordedFabric = {
    snapshot: aSnapshot(),
    places: [{ island: 'ib', nvlinkDomain: null, switches: ['topograph:tier-1=s0/tier-0=l0', 'topograph:tier-1=s0'] }],
    hardware: [{ gpuType: 'H100', nicType: 'roce', nicSpeedGbps: 400, nicCount: 8, readFrom: [] }],
    nodes: { names: ['a', 'b', 'c'], gpus: [8, 8, 8], places: [0, 0, 0], hardware: [0, 0, 0] },
  };

  it('shows the fabric as it was then, and until when it was seen so', async () => {
    const { out } = await run('show --at 1d', {
      [at('2026-01-09T00:00:00.000Z')]: { json: { items: [aSnapshot()] } },
      [`${SNAPSHOTS}/${ID}`]: { json: recorded },
    });
    expect(out).toBe(`Recorded at 2026-01-08 12:00:00 UTC, unchanged until 2026-01-09 23:50:00 UTC.

3 nodes with 24 GPUs; 1 island, 0 NVLink domains of several nodes

ISLAND  SPINE  LEAF  NODES  GPUS  GPU   NETWORK
ib      s0     l0    3      24    H100  8 x roce 400 Gb/s`);
  });

  it.each([
    [
      '--at 1d --nodes nodes.json',
      '--at reads what the server recorded, so it cannot be combined with --nodes; leave one of them out.',
    ],
    ['--at yesterday', /"yesterday" is not a time; write 2030-01-31T00:00:00Z, or 30m, 24h or 7d/],
  ])('refuses %s', async (argv, want) => {
    const { err, code } = await run(`show ${argv}`, {});
    expect(code).toBe(1);
    expect(err).toMatch(want);
  });
});
