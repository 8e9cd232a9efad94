import { meanTimeToFailureMs, responseOf, runQuestion, type SimulationQuestion, sparesOf } from './questions.ts';

const aQuestion = (changes: Partial<SimulationQuestion> = {}): SimulationQuestion => ({
  gpus: 16_384,
  days: 2,
  failures: 'llama3',
  response: 'llama3',
  seeds: 1,
  firstSeed: 1,
  everyNode: false,
  ...changes,
});

describe('a question in words becomes a run', () => {
  it.each<[string, Partial<SimulationQuestion>, object]>([
    ['of 2,048 nodes of 8 GPUs', {}, { nodes: 2_048, days: 2, seed: 5 }],
    ['of 128 nodes for 1,024 GPUs', { gpus: 1_024 }, { nodes: 128 }],
    ['in which 32 nodes stand for all', {}, { mostGangNodes: 32, hasSwitches: false }],
    ['in which 64 stand for all if a leaf can fail', { failures: 'byterobust' }, { mostGangNodes: 64 }],
    ['on every node, below switches', { everyNode: true }, { mostGangNodes: 2_048, hasSwitches: true }],
    ['on every node of a small job', { everyNode: true, gpus: 64 }, { mostGangNodes: 8 }],
    ['with the spare nodes that are asked for', { spareNodes: 3 }, { spareNodes: 3 }],
    ['without spare nodes if none are asked for', { spareNodes: 0 }, { spareNodes: 0 }],
  ])('%s', (_sentence, changes, want) => {
    expect(runQuestion(aQuestion(changes), 5)).toMatchObject(want);
  });
});

describe('spare nodes that nobody named', () => {
  it.each<[string, Partial<SimulationQuestion>, number]>([
    ['2,048 nodes that fail as those of Llama 3 need 15', {}, 15],
    ['the same job in half as many days needs as many', { days: 1 }, 15],
    ['8 nodes of it need 1', { gpus: 64 }, 1],
    ['1,536 nodes of MegaScale need 8', { gpus: 12_288, failures: 'megascale' }, 8],
    ['1,200 nodes of ByteRobust need 6', { gpus: 9_600, failures: 'byterobust' }, 6],
  ])('%s', (_sentence, changes, want) => {
    expect(sparesOf(aQuestion(changes))).toBe(want);
  });
});

describe('the mean time to a fault', () => {
  it.each<[string, Partial<SimulationQuestion>, number]>([
    ['of Llama 3 is the 3.09 hours that 419 faults in 54 days make', {}, 3.093],
    ['is twice as long on half of the GPUs', { gpus: 8_192 }, 6.186],
    ['of MegaScale is 7.6 hours: 110 in 35 days', { gpus: 12_288, failures: 'megascale' }, 7.636],
    ['of ByteRobust is 12.3 hours: 175 in 90 days', { gpus: 9_600, failures: 'byterobust' }, 12.343],
    ['knows no days', { days: 100 }, 3.093],
  ])('%s', (_sentence, changes, hours) => {
    expect(meanTimeToFailureMs(aQuestion(changes)) / 3_600_000).toBeCloseTo(hours, 2);
  });
});

describe('a response that a question changes', () => {
  it.each<[string, Partial<SimulationQuestion>, object]>([
    ['saves as seldom as the preset says', {}, { checkpointIntervalSeconds: 600, checkpointStallSeconds: 3 }],
    [
      'saves as often as is asked',
      { checkpointIntervalSeconds: 60 },
      { checkpointIntervalSeconds: 60, checkpointStallSeconds: 3 },
    ],
    [
      'saves without a stall',
      { checkpointStallSeconds: 0 },
      { checkpointIntervalSeconds: 600, checkpointStallSeconds: 0 },
    ],
    [
      'notices a crash at once',
      { detectCrashSeconds: 0 },
      { detectors: { crash: { seconds: 0 }, hang: { seconds: 600 }, sdc: { seconds: 1_800 } } },
    ],
    [
      'notices a hang in 30 s',
      { detectHangSeconds: 30 },
      { detectors: { crash: { seconds: 60 }, hang: { seconds: 30 } } },
    ],
    [
      'keeps how a hang is noticed',
      { response: 'byterobust', detectHangSeconds: 30 },
      { detectors: { hang: { seconds: 30, isTimeout: true } } },
    ],
    [
      'keeps false alarms',
      { response: 'target', detectHangSeconds: 30 },
      { detectors: { hang: { falseAlarmsPerDay: 1 } } },
    ],
    [
      'is that of another system by name',
      { response: 'target' },
      { evictsSlowAfterSeconds: 300, restartSeconds: { process: 30, swap: 90 } },
    ],
  ])('%s', (_sentence, changes, want) => {
    expect(responseOf(aQuestion(changes))).toMatchObject(want);
  });
});
