import { RunMarks } from './run-marks.ts';

const twoRanks = (act: (marks: RunMarks) => void): ReturnType<RunMarks['ages']> => {
  const marks = new RunMarks();
  marks.begin(2);
  act(marks);
  return marks.ages(100);
};

it.each<[what: string, act: (marks: RunMarks) => void, want: ReturnType<RunMarks['ages']>]>([
  ['nothing before anything happens', () => undefined, {}],
  ['when the processes were started', (marks) => marks.start(40), { started: 60 }],
  [
    'a mark once every rank of the pod has passed it, by the last one',
    (marks) => {
      marks.receive(0, { imported: 10, met: 5 }, 50);
      marks.receive(1, { imported: 2 }, 50);
    },
    { imported: 52 },
  ],
  [
    'nothing of a mark that one rank passed unseen',
    (marks) => {
      marks.receive(0, { loaded: null }, 50);
      marks.receive(1, { loaded: 3 }, 50);
    },
    {},
  ],
  [
    'what the engine says of its load, unless the hook has said more',
    (marks) => {
      marks.load(0, 60);
      marks.receive(1, { loaded: 10 }, 50);
      marks.load(1, 70);
    },
    { loaded: 40 },
  ],
  [
    'what the engine says after its hook has seen nothing',
    (marks) => {
      marks.receive(0, { loaded: null }, 50);
      marks.receive(1, { loaded: 10 }, 50);
      marks.load(0, 70);
    },
    { loaded: 30 },
  ],
  [
    'the first report of each mark',
    (marks) => {
      marks.receive(0, { met: 0 }, 50);
      marks.receive(1, { met: 0 }, 60);
      marks.receive(1, { met: 0 }, 90);
    },
    { met: 40 },
  ],
  [
    'the first failure',
    (marks) => {
      marks.fail(70);
      marks.fail(80);
    },
    { failed: 30 },
  ],
  ['the end of ranks as a mark of those that follow them only', (marks) => marks.reap(70), {}],
  [
    'of other ranks nothing but when those before were gone',
    (marks) => {
      marks.start(10);
      marks.fail(20);
      marks.receive(0, { imported: 0 }, 15);
      marks.receive(1, { imported: 0 }, 15);
      marks.reap(70);
      marks.begin(2);
    },
    { reaped: 30 },
  ],
])('knows %s', (_what, act, want) => {
  expect(twoRanks(act)).toEqual(want);
});

it('knows of a pod without ranks only when it was started', () => {
  const marks = new RunMarks();
  marks.begin(0);
  marks.start(0);
  expect(marks.ages(5)).toEqual({ started: 5 });
});
