import { findCondition } from '@coxswain/api-types';
import { decide } from '../decide/decide.ts';
import { aPlacement, aPod, observe } from '../testing/index.ts';
import { aJob, anAttempt, aStatus, NOW } from '../testing/jobs.ts';

const job = { ...aJob(), status: aStatus({ attempts: [anAttempt({})] }) };
const NODES = Array.from({ length: 32 }, (_, index) => `node-${index}`);

/** What is said of a gang of 32 nodes of which so many pull, after so long. */
function testimonyByNode(pulling: number, elapsed: Readonly<Record<string, number>>, runtime?: object) {
  const pods = NODES.map((nodeName, podIndex) =>
    aPod(job, {
      podIndex,
      nodeName,
      phase: 'Pending',
      running: false,
      ...(podIndex < pulling ? { pullsImage: true as const } : {}),
    }),
  );
  const snapshot = { kind: 'ClusterTrainingRuntime' as const, name: 'a', uid: 'u', generation: 1, template: {} };
  const placement = aPlacement(job, {
    nodes: NODES,
    worldSize: 64,
    ...(runtime === undefined ? {} : { runtime: { ...snapshot, ...runtime } }),
  });
  const seen = observe({ job, pods, placements: [placement], elapsedMs: new Map(Object.entries(elapsed)) });
  return decide(seen, NOW);
}
const messageOf = (pulling: number, ms: number) =>
  findCondition(testimonyByNode(pulling, { 'e1/pulls-told': ms }).status.conditions, 'Running')?.message;

describe('pulls of a gang’s image', () => {
  it.each([
    ['are no news for ten seconds', 32, 9_999, 'The containers of attempt 1 are starting.'],
    ['are told of after that', 32, 10_000, 'The image is being pulled on at most 32 of 32 nodes of attempt 1.'],
    [
      'are told of in eighths, since each number is a write',
      17,
      60_000,
      'The image is being pulled on at most 20 of 32 nodes of attempt 1.',
    ],
    ['are told of no more when they are done', 0, 60_000, 'The containers of attempt 1 are starting.'],
  ])('%s', (_sentence, pulling, ms, want) => {
    expect(messageOf(pulling, ms)).toBe(want);
  });

  it('are looked at again when they become news', () => {
    expect(testimonyByNode(32, { 'e1/pulls-told': 4_000 }).requeueAfterMs).toBe(6_000);
  });

  it.each([
    ['longer than the cluster’s limit', { imagePullDeadlineSeconds: 7200 }, 7_199_000, undefined],
    ['until it is over', { imagePullDeadlineSeconds: 7200 }, 7_200_000, 'Failed'],
    ['shorter than the cluster’s limit', { imagePullDeadlineSeconds: 600 }, 600_000, 'Failed'],
    ['as the cluster says, where the runtime says nothing', {}, 1_800_000, 'Failed'],
  ])('may take %s, as their runtime says', (_sentence, runtime, ms, want) => {
    expect(testimonyByNode(1, { 'e1/pulling': ms }, runtime).status.attempts?.at(-1)?.outcome).toBe(want);
  });
});
