/** Presets against the figures of their sources: counts, sizes and times as they were published. */
import { type Cause, FAILURES, type FailurePreset, type FailurePresetName, SHAPES } from './failures.ts';
import { type Response, type ResponseName, RESPONSES, WATCHDOG_SECONDS } from './responses.ts';

const failures: Readonly<Record<FailurePresetName, FailurePreset>> = FAILURES;
const responses: Readonly<Record<ResponseName, Response>> = RESPONSES;
const counted = (name: FailurePresetName, is: (cause: Cause) => boolean): number =>
  failures[name].causes.filter(is).reduce((sum, { count }) => sum + count, 0);

describe('published failures', () => {
  it.each<[FailurePresetName, number, string]>([
    ['llama3', 419, '419 unexpected'],
    ['megascale', 110, 'read as 110 in 35 days'],
    ['byterobust', 175, '175 incidents'],
  ])('of %s are %d, as its source says', (name, count, words) => {
    expect(counted(name, () => true)).toBe(count);
    expect(failures[name].source).toContain(words);
  });

  it.each<[FailurePresetName, number, number, string]>([
    ['llama3', 16_384, 54, '16,384 H100 in 54 days'],
    ['megascale', 12_288, 35, '12,288 GPUs'],
    ['byterobust', 9_600, 90, '9,600 GPUs in three months'],
  ])('of %s are of %d GPUs in %d days', (name, gpus, days, words) => {
    const { nodes, gpusPerNode, source } = failures[name];
    expect([nodes * gpusPerNode, failures[name].days]).toEqual([gpus, days]);
    expect(source).toContain(words);
  });

  it.each<[FailurePresetName, string, number]>([
    ['llama3', 'faulty GPU', 148],
    ['llama3', 'HBM3 memory', 72],
    ['llama3', 'software bug', 54],
    ['llama3', 'network switch or cable', 35],
    ['llama3', 'host maintenance', 32],
    ['llama3', 'GPU SRAM', 19],
    ['llama3', 'GPU system processor', 17],
    ['llama3', 'NIC', 7],
    ['llama3', 'NCCL watchdog timeout', 7],
    ['llama3', 'silent data corruption', 6],
    ['llama3', 'thermal interface or sensor', 6],
    ['llama3', 'SSD', 3],
    ['llama3', 'power supply', 3],
    ['llama3', 'chassis', 2],
    ['llama3', 'IO board', 2],
    ['llama3', 'dependency', 2],
    ['llama3', 'CPU', 2],
    ['llama3', 'DRAM', 2],
    ['byterobust', 'evict and restart', 128],
    ['byterobust', 'hot update', 20],
    ['byterobust', 'stack analysis and evict', 15],
    ['byterobust', 'rollback', 12],
  ])('of %s: %s, %d times', (name, cause, count) => {
    expect(counted(name, (one) => one.name === cause)).toBe(count);
  });

  it.each<[FailurePresetName, string, (cause: Cause) => boolean, number]>([
    ['llama3', 'hang', ({ kind }) => kind === 'hang', 31],
    ['llama3', 'corrupt results', ({ kind }) => kind === 'sdc', 6],
    ['llama3', 'are of software', ({ strikes }) => strikes === 'software', 63],
    ['llama3', 'take a whole machine', ({ strikes }) => strikes === 'machine', 46],
    ['megascale', 'hang', ({ kind }) => kind === 'hang', 11],
    ['megascale', 'are of software', ({ strikes }) => strikes === 'software', 14],
    ['byterobust', 'hang', ({ kind }) => kind === 'hang', 15],
    ['byterobust', 'are of software', ({ strikes }) => strikes === 'software', 32],
  ])('of %s: those that %s', (name, _what, is, count) => {
    expect(counted(name, is)).toBe(count);
  });

  it.each<[string, number, number]>([
    ['47 planned stops of Llama 3', failures.llama3.planned, 47],
    ['slow hosts of MegaScale are 0.5 %', failures.megascale.slowNodes.share, 0.005],
    ['and slow it by 0.7 %', failures.megascale.slowNodes.jobSlowdown, 1.007],
    ['no host of Llama 3 is known to be slow', failures.llama3.slowNodes.share, 0],
    ['1 % of incidents of ByteRobust take a leaf switch', failures.byterobust.leafOutageShare, 0.01],
  ])('%s', (_sentence, found, want) => {
    expect(found).toBe(want);
  });

  it.each<[string, number, number]>([
    ['a restart fails again in 1 of 20', SHAPES.infantProbability, 0.05],
    ['within ten minutes', SHAPES.infantSeconds, 600],
    ['a restart of processes clears 1 of 4 device faults', SHAPES.transientShare, 0.25],
    ['a node is mended in a day', SHAPES.repairHours, 24],
    ['a leaf switch works again in an hour', SHAPES.leafOutageMinutes, 60],
    ['the watchdog of PyTorch waits ten minutes', WATCHDOG_SECONDS, 600],
  ])('assumed for all: %s', (_sentence, found, want) => {
    expect(found).toBe(want);
  });
});

describe('published answers to failures', () => {
  it.each<[ResponseName, number, number, number]>([
    ['llama3', 60, 600, 1_800],
    ['megascale', 60, 600, 1_800],
    ['byterobust', 60, 600, 1_800],
    ['target', 12, 60, 600],
  ])('%s notices a crash after %d s, a hang after %d s, corruption after %d s', (name, crash, hang, sdc) => {
    const { detectors } = responses[name];
    expect([detectors.crash.seconds, detectors.hang.seconds, detectors.sdc.seconds]).toEqual([crash, hang, sdc]);
  });

  it.each<[ResponseName, number, number]>([
    ['llama3', 180, 240],
    ['megascale', 360, 480],
    ['byterobust', 55, 109],
    ['target', 30, 90],
  ])('%s starts ranks again in %d s and swaps a node in %d s', (name, process, swap) => {
    expect(responses[name].restartSeconds).toEqual({ process, swap });
  });

  it.each<[ResponseName, number, number]>([
    ['llama3', 600, 3],
    ['megascale', 900, 6],
    ['byterobust', 10, 0.03],
    ['target', 120, 0.6],
  ])('%s saves each %d s of training, for %d s', (name, interval, stall) => {
    const { checkpointIntervalSeconds, checkpointStallSeconds } = responses[name];
    expect([checkpointIntervalSeconds, checkpointStallSeconds]).toEqual([interval, stall]);
  });

  it.each<[string, unknown, unknown]>([
    ['a crash of ByteRobust is located in 2 to 15 min', responses.byterobust.locateWithinSeconds?.crash, [120, 900]],
    ['a hang of it has no such bounds', responses.byterobust.locateWithinSeconds?.hang, undefined],
    ['its hangs are noticed by a timeout', responses.byterobust.detectors.hang.isTimeout, true],
    ['3 % of its incidents take a person 5 h', responses.byterobust.manual, { probability: 0.03, seconds: 18_000 }],
    ['90 % of faults of MegaScale need no person', responses.megascale.manual.probability, 0.1],
    ['the target has one false alarm a day', responses.target.detectors.hang.falseAlarmsPerDay, 1],
    ['and none for crashes', responses.target.detectors.crash.falseAlarmsPerDay, 0],
    ['the target evicts slow nodes after 5 min', responses.target.evictsSlowAfterSeconds, 300],
    ['Llama 3 keeps them', responses.llama3.evictsSlowAfterSeconds, undefined],
    [
      'no detector misses a fault',
      Object.values(responses)
        .flatMap(({ detectors }) => Object.values(detectors))
        .filter(({ missProbability }) => missProbability > 0),
      [],
    ],
  ])('%s', (_sentence, found, want) => {
    expect(found).toEqual(want);
  });
});
