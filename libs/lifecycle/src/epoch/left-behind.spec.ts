import type { Attempt, LauncherState, TrainingJobStatus } from '@coxswain/api-types';
import type { ObservedExit } from '../observation/observed.ts';
import { anExit, aPod } from '../testing/index.ts';
import { anAttempt, aRunningJob, NOW, settled } from '../testing/jobs.ts';

const RAN = '2026-01-01T00:19:55Z';
type Testimony = readonly [state: LauncherState, incarnation: number];

/** A gang of two pods at incarnation 2, of which the first one has ended so; and what their launchers said last. */
function ending(
  exit: ObservedExit,
  about: { readonly runningAt?: string; readonly first?: Testimony; readonly second?: Testimony } = {},
): TrainingJobStatus {
  const { first = ['reaped', 1], second = ['reaped', 1], ...more } = about;
  const incarnations = [
    { incarnation: 1, endedAt: NOW.toISOString(), reason: 'EngineFailed', message: '', charged: true },
  ] as const;
  const attempt: Attempt = anAttempt({ incarnation: 2, incarnations: [...incarnations], ...more });
  const phase = exit.exitCode === 0 ? 'Succeeded' : 'Failed';
  const observed = aRunningJob({
    status: { restarts: { total: 1, charged: 1 }, attempts: [attempt] },
    pods: (job) => [aPod(job, { phase, running: false, exit }), aPod(job, { podIndex: 1 })],
  });
  const launchers = new Map(
    observed.pods.map(({ uid }, index) => {
      const [state, incarnation] = index === 0 ? first : second;
      return [uid, { epoch: 1, state, incarnation }];
    }),
  );
  return settled({ ...observed, launchers }).status;
}

const lastOf = (status: TrainingJobStatus): Attempt | undefined => status.attempts?.at(-1);
const finished = (incarnation: number): ObservedExit =>
  anExit({ exitCode: 0, reason: 'Completed' }, { kind: 'finished', exitCode: 0, lastLines: [], incarnation });

describe('a pod that ended before its ranks were started again', () => {
  it('says nothing against its node: launchers end by themselves where nobody leads', () => {
    const status = ending(anExit({}, { incarnation: 1 }));
    expect(lastOf(status)).toMatchObject({ reason: 'NotReaped', charged: false });
    expect(status.avoidedNodes ?? []).toEqual([]);
  });

  it('because its ranks had finished fails the epoch at once, free of charge, and its node is not avoided', () => {
    const status = ending(finished(1), { first: ['running', 1] });
    expect(lastOf(status)).toMatchObject({ outcome: 'Failed', reason: 'NotReaped', charged: false, answer: 'Restart' });
    expect(lastOf(status)?.message).toMatch(/^Pod .*-e1-0 ended before its ranks restarted\./);
    expect(status.avoidedNodes ?? []).toEqual([]);
  });

  it('fails the epoch although the others run again', () => {
    const status = ending(anExit({}, { incarnation: 1 }), { second: ['running', 2] });
    expect(lastOf(status)).toMatchObject({ reason: 'NotReaped', charged: false });
    expect(lastOf(status)?.runningAt).toBeUndefined();
  });
});

describe('a pod that ends with the message of an earlier incarnation, of which the newest has run', () => {
  const proofs = [
    ['by status', { runningAt: RAN }],
    ['by its launcher’s word', { first: ['running', 2] }],
  ] as const;

  it.each(proofs)('%s, is charged, and told by its exit code', (_by, about) => {
    const old = { incarnation: 1, kind: 'rendezvousPortLost' } as const;
    const status = ending(anExit({ exitCode: 137, reason: 'OOMKilled' }, old), about);
    expect(lastOf(status)).toMatchObject({ outcome: 'Failed', reason: 'EngineFailed', charged: true });
    expect(lastOf(status)?.message).toBe('Pod tiny-gpt-3f1c2b9e-e1-0 on node node-a exited with code 137, OOMKilled.');
    expect(status.avoidedNodes ?? []).toEqual([]);
  });

  it.each(proofs)('%s, is no failure where it has finished', (_by, about) => {
    expect(lastOf(ending(finished(1), about))).toMatchObject({ stage: 'Released', incarnation: 2 });
    expect(lastOf(ending(finished(2), about))).toMatchObject({ stage: 'Released', incarnation: 2 });
  });
});
