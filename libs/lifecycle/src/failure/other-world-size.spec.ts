/** A program with a constant for its world size waits for ranks that never come, while every pod is ready. */
import { recordOf } from '../record/job-record.ts';
import { aJob, anAttempt, aStatus } from '../testing/jobs.ts';
import { aLayout } from '@coxswain/layout/testing';
import { blamedCrash } from './blamed-crash.ts';
import type { Failure } from './failure.ts';
import { otherWorldSize } from './other-world-size.ts';

const clients = (joined: string): string =>
  `torch.distributed.DistStoreError: Timed out after 901 seconds waiting for clients. ${joined} clients joined.`;
const key = (rank: number): string =>
  `torch.distributed.DistStoreError: wait timeout after 300000ms, keys: /default_pg/0//cuda//rank_${rank}`;

describe('a job of four ranks', () => {
  it.each<[what: string, line: string, want: string | undefined]>([
    ['whose program waits for eight', clients('4/8'), 'the program waits for 8 ranks, and the job has 4'],
    ['whose program waits for two', clients('2/2'), 'the program waits for 2 ranks, and the job has 4'],
    ['with three ranks that came, as in a broken network', clients('3/4'), undefined],
    ['with three ranks that came to a program that waits for eight', clients('3/8'), undefined],
    ['whose program waits for its fifth rank', key(4), 'the program waits for rank 4, and the job has ranks 0 to 3'],
    ['whose program waits for its last rank', key(3), undefined],
    ['with another error', 'ValueError: planted', undefined],
  ])('%s', (_what, line, want) => {
    expect(otherWorldSize(['step 1', line, ''], 4)).toBe(want);
  });

  it.each<[what: string, line: string, want: readonly [string, string]]>([
    ['that all came is not blamed on the network', clients('4/8'), ['WorldSizeDiffers', 'program']],
    ['that did not all come is', clients('3/4'), ['RendezvousFailed', 'network']],
  ])('%s', (_what, line, want) => {
    const attempts = [anAttempt({ layout: aLayout({ dataParallelDegree: 4 }) })];
    const record = recordOf(aJob({ status: aStatus({ attempts }) }));
    const failure = { reason: 'EngineFailed', message: '', crash: { exitCode: 1, lastLines: [line] } } as const;
    const { class: name, blame } = blamedCrash(record, failure as unknown as Failure);
    expect([name, blame]).toEqual(want);
  });
});
