import type { SavedFact } from '../facts/engine-facts.ts';
import { FactReporter } from './fact-reporter.ts';
import { RunMarks } from './run-marks.ts';
import { SaveStops } from './save-stops.ts';
import { TrainingProgress } from './training-progress.ts';

const SAVE: SavedFact = {
  kind: 'checkpointSaved',
  step: 2,
  directory: 'step-2',
  bytes: 1,
  files: 1,
  manifestSha256: 'a'.repeat(64),
};

type Parts = ConstructorParameters<typeof FactReporter>[0];

/** The saves that are passed on, after the ranks reported the steps 1 to 5. */
function savesAfter(act: (reporter: FactReporter) => void): readonly SavedFact[] {
  const saves: SavedFact[] = [];
  const progress = new TrainingProgress();
  progress.begin(0);
  for (const step of [1, 2, 3, 4, 5]) progress.note({ step, loss: null, tokens: null }, step);
  const savedCheckpoints = { receive: (fact: SavedFact) => void saves.push(fact) } as Parts['savedCheckpoints'];
  act(new FactReporter({ steps: { progress }, savedCheckpoints, stops: new SaveStops() } as Parts));
  return saves;
}

it.each<[what: string, act: (reporter: FactReporter) => void, want: readonly unknown[]]>([
  [
    'that the engine reports was not complete from its step on',
    (reporter) => reporter.receive(0, SAVE),
    [{ ...SAVE, unmarked: { firstMs: 2, lastMs: expect.any(Number) as number } }],
  ],
  [
    'of a step that was not reported has no such time',
    (reporter) => reporter.receive(0, { ...SAVE, step: 9 }),
    [{ ...SAVE, step: 9 }],
  ],
  [
    'that the launcher found has the time that it was seen without its marker',
    (reporter) => reporter.receiveFound(SAVE),
    [SAVE],
  ],
  ['of another rank is not passed on', (reporter) => reporter.receive(1, SAVE), []],
])('a save %s', (_what, act, want) => {
  expect(savesAfter(act)).toEqual(want);
});

it('takes the time of a load from a report that comes with it, and not from one after the first step', () => {
  const marks = new RunMarks();
  marks.begin(1);
  const beats: object[] = [];
  const heartbeats = { beat: () => void beats.push(marks.ages(performance.now())) } as Parts['heartbeats'];
  const reporter = new FactReporter({ marks, heartbeats, report: () => undefined } as unknown as Parts);
  reporter.receive(0, { kind: 'resumed', step: 9, late: true });
  expect(beats).toEqual([]);
  reporter.receive(0, { kind: 'resumed', step: 9 });
  expect(beats.map((ages) => Object.keys(ages))).toEqual([['loaded']]);
});
