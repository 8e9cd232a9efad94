import type { StopFacts } from '@coxswain/api-types';
import { StopRecord } from './stop-record.ts';
import { plainVerdict } from '../ending/verdict.ts';
import { EngineFact } from '../facts/engine-facts.ts';

const SAVED = { kind: 'checkpointSaved', directory: 's', bytes: 1, files: 1, manifestSha256: 'a'.repeat(64) };
const fact = (about: object): EngineFact => EngineFact.parse(about);
const saving = fact({ kind: 'heartbeat', watermark: { phase: 'saving', phaseAgeMs: 0, groups: [] } });
const savedAt = (step: number): EngineFact => fact({ ...SAVED, step });

it.each<[string, readonly (readonly [EngineFact, number])[], StopFacts['save']]>([
  ['nothing, if no rank says that it saves', [[fact({ kind: 'heartbeat' }), 1_500]], undefined],
  [
    'a save that has not ended',
    [
      [saving, 1_500],
      [saving, 1_900],
    ],
    { beganMs: 500 },
  ],
  [
    'a save of the last step',
    [
      [saving, 1_500],
      [savedAt(40), 1_900],
    ],
    { beganMs: 500, endedMs: 900, stepsAfter: 0 },
  ],
  ['a save of an older step', [[savedAt(30), 1_900]], { beganMs: 900, endedMs: 900, stepsAfter: 10 }],
])('a launcher that was asked to stop reports %s', (_what, facts, want) => {
  const record = new StopRecord({ graceMs: 7_000, nowMs: 1_000 });
  record.add({ signalled: 2, unhandled: 1 });
  for (const [one, atMs] of facts) record.accept(0, one, atMs);
  const stop = record.factsAfter(plainVerdict('stopped', ''), {
    overAtMs: 3_000,
    lastSteps: new Map([
      [0, 40],
      [1, 42],
    ]),
  });
  expect(stop).toEqual({
    graceMs: 7_000,
    tookMs: 2_000,
    signalled: 2,
    unhandled: 1,
    killed: false,
    ...(want && { save: want }),
  });
});
