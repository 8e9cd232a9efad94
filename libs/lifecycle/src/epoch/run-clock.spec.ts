import type { Attempt, RunClock } from '@coxswain/api-types';
import type { Facts } from '../observation/facts.ts';
import type { ObservedLauncher } from '../observation/observed-launcher.ts';
import type { ObservedMarks } from '../observation/observed-marks.ts';
import type { JobRecord } from '../record/job-record.ts';
import { anAttempt } from '../testing/jobs.ts';
import { withClock } from './run-clock.ts';

const at = (ms: number): string => new Date(ms).toISOString();
const NO_SAVES: ObservedMarks['saves'] = [];

/** The clock after launchers of pods 0, 1, ... have reported these marks of incarnation 2. */
function clockAfter(
  pods: readonly (ObservedMarks['atMs'] | undefined)[],
  {
    attempt = {},
    ranks,
    incarnation = 2,
    saves = NO_SAVES,
  }: {
    readonly attempt?: Partial<Attempt>;
    readonly ranks?: readonly string[];
    readonly incarnation?: number;
    readonly saves?: ObservedMarks['saves'];
  } = {},
): RunClock | undefined {
  const record = { attempts: [anAttempt({ epoch: 2, incarnation: 2, ...attempt })], epoch: 2 } as unknown as JobRecord;
  const launchers = new Map<string, ObservedLauncher>(
    pods.flatMap((atMs, index) =>
      atMs === undefined
        ? []
        : [
            [
              `uid-${index}`,
              { epoch: 2, incarnation, state: 'running', marks: { atMs, saves: index === 0 ? saves : [] } },
            ],
          ],
    ),
  );
  const placements = ranks === undefined ? [] : [{ spec: { epoch: 2, worldSize: 4, ranks } }];
  const facts = {
    observed: { launchers },
    pods: pods.map((_, index) => ({ uid: `uid-${index}`, epoch: 2, podIndex: index })),
    placements,
    attempts: [],
  } as unknown as Facts;
  return withClock(record, facts).attempts.at(-1)?.clock;
}

it.each<[string, RunClock | undefined, RunClock | undefined]>([
  ['nothing where no launcher reports', clockAfter([undefined, undefined]), undefined],
  ['a mark that the last pod has passed', clockAfter([{ met: 5_000 }, { met: 7_000 }]), { metAt: at(7_000) }],
  ['no mark that one pod has not passed', clockAfter([{ met: 5_000 }, { imported: 1_000 }]), undefined],
  ['no mark while a pod is silent', clockAfter([{ met: 5_000 }, undefined]), undefined],
  ['the first failure', clockAfter([{ failed: 5_000 }, { failed: 4_000 }, {}]), { failedAt: at(4_000) }],
  ['nothing of an earlier incarnation', clockAfter([{ met: 5_000 }], { incarnation: 1 }), undefined],
  [
    'a mark of the pods that have ranks',
    clockAfter([{ met: 5_000 }, {}], { ranks: ['0-3', ''] }),
    { metAt: at(5_000) },
  ],
  [
    'a recorded mark as it was recorded, with new ones beside it',
    clockAfter([{ imported: 1_000, met: 5_000 }], { attempt: { clock: { importedAt: at(900) } } }),
    { importedAt: at(900), metAt: at(5_000) },
  ],
  [
    'the newest saves',
    clockAfter([{}], { saves: [{ step: 9, ms: 3 }], attempt: { clock: { saves: [{ step: 4, ms: 2 }] } } }),
    { saves: [{ step: 9, ms: 3 }] },
  ],
  ['nothing of an attempt that is over', clockAfter([{ met: 5_000 }], { attempt: { stage: 'Ended' } }), undefined],
])('the clock has %s', (_what, found, want) => {
  expect(found).toEqual(want);
});
