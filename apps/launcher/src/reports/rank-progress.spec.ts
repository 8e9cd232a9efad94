import { LauncherMessage, MAX_REPORT_BYTES } from '@coxswain/api-types';
import { parseFact, type HeartbeatFact } from '../facts/engine-facts.ts';
import { RankProgress } from './rank-progress.ts';

const GROUP = { group: '3', operation: 'all_reduce', bytes: 64, enqueued: 7, started: 7, completed: 7, ageMs: 200 };
const STANDS = { ...GROUP, completed: 6 };
const TENSOR = { group: '3', name: 'TP', ranks: '0-1' };
const ALIVE = [
  { rank: 0, alive: true },
  { rank: 1, alive: false },
];

function beat(group: object, more: object = {}): HeartbeatFact {
  const watermark = { phase: 'training', phaseAgeMs: 900, groups: [group] };
  return parseFact(JSON.stringify({ kind: 'heartbeat', step: 4, watermark, ...more })) as HeartbeatFact;
}

describe('what a rank says of how far it is', () => {
  it('is told with its age as of now, and each of its groups once', () => {
    const now = new RankProgress();
    now.receive(0, beat(GROUP, { processGroups: [TENSOR, { ...TENSOR, group: 'of nobody' }] }), 1_000);
    now.receive(1, beat(STANDS, { processGroups: [TENSOR] }), 1_400);
    now.recordStep(0, 5, 1_450);
    expect(now.heartbeat(ALIVE, { nowMs: 1_500, readsWatermarks: true })).toEqual({
      ranks: [
        { rank: 0, alive: true, step: 5 },
        { rank: 1, alive: false, step: 4 },
      ],
      watermarks: [
        { rank: 0, step: 5, phase: 'training', phaseAgeMs: 1_400, groups: [{ ...GROUP, ageMs: 700 }] },
        { rank: 1, step: 4, phase: 'training', phaseAgeMs: 1_000, groups: [{ ...STANDS, ageMs: 300 }] },
      ],
      processGroups: [TENSOR],
    });
    expect([now.lastStep, now.collectives, new RankProgress().collectives]).toEqual([5, 7, undefined]);
  });

  it('is no longer told once the rank has fallen silent; that its process is there, is', () => {
    const now = new RankProgress();
    now.receive(0, beat(STANDS), 1_000);
    const heartbeatAt = (nowMs: number): unknown =>
      now.heartbeat(ALIVE.slice(0, 1), { nowMs, readsWatermarks: true }).watermarks?.length;
    expect([heartbeatAt(26_000), heartbeatAt(26_001)]).toEqual([1, 0]);
  });

  it.each<[string, string, object]>([
    ['that has told a step', 'starting', { phase: 'training', phaseAgeMs: 500 }],
    ['that saves', 'saving', { phase: 'saving', phaseAgeMs: 1_900 }],
  ])('says of a rank %s what it does', (_what, phase, expected) => {
    const now = new RankProgress();
    now.recordStep(0, 5, 1_500);
    now.receive(0, beat(GROUP, { watermark: { phase, phaseAgeMs: 900, groups: [] } }), 1_000);
    const { watermarks } = now.heartbeat(ALIVE.slice(0, 1), { nowMs: 2_000, readsWatermarks: true });
    expect(watermarks).toMatchObject([expected]);
  });

  it.each<[string, boolean, HeartbeatFact]>([
    ['the operator does not listen to it', false, beat(GROUP)],
    ['nothing was said', true, parseFact('{"kind":"heartbeat","step":4}') as HeartbeatFact],
    ['its words are not ours', true, beat({ ...GROUP, operation: 7 })],
    ['its phase is not ours', true, beat(GROUP, { watermark: { phase: 'resting', phaseAgeMs: 1, groups: [] } })],
  ])('is left out where %s, and that it lives is told', (_why, readsWatermarks, fact) => {
    const now = new RankProgress();
    now.receive(0, fact, 0);
    expect(now.heartbeat(ALIVE.slice(0, 1), { nowMs: 1, readsWatermarks })).toEqual({
      ranks: [{ rank: 0, alive: true, step: 4 }],
    });
  });

  it.each<[string, object, number, boolean]>([
    ['it goes on', GROUP, 10_000, false],
    ['it stands', STANDS, 2_000, true],
    ['another has just said so', STANDS, 1_999, false],
  ])('is news before the next heartbeat is due, or not, where %s', (_what, group, sinceMs, want) => {
    const now = new RankProgress();
    expect(now.receive(1, beat(STANDS), 100)).toBe(true);
    expect(now.receive(0, beat(group), 100 + sinceMs)).toBe(want);
  });

  it('fits into a frame, however much they say', () => {
    const now = new RankProgress();
    const ranks = Array.from({ length: 16 }, (_, rank) => ({ rank, alive: true }));
    for (const { rank } of ranks) {
      const names = Array.from({ length: 32 }, (_, index) => `${rank}.${index}${'\u0001'.repeat(50)}`);
      now.receive(
        rank,
        beat(GROUP, {
          watermark: { phase: 'saving', phaseAgeMs: 1, groups: names.map((group) => ({ ...GROUP, group })) },
          processGroups: names.map((group) => ({ group, name: '', ranks: '1,'.repeat(4_000) + rank })),
        }),
        0,
      );
    }
    const heartbeat = now.heartbeat(ranks, { nowMs: 1, readsWatermarks: true });
    const envelope = { podUid: 'p', epoch: 1, sequence: 1, rendezvous: null };
    const frame = JSON.stringify({ ...envelope, kind: 'heartbeat', ...heartbeat });
    expect(frame.length).toBeLessThan(MAX_REPORT_BYTES);
    expect(heartbeat.watermarks?.length).toBeGreaterThan(4);
    expect(heartbeat.processGroups?.length).toBeGreaterThan(4);
    expect(LauncherMessage.parse(JSON.parse(frame))).toMatchObject({ kind: 'heartbeat' });
  });
});
