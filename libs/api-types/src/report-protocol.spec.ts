/** Frames between launcher, operator and API: which are accepted, and which field of a rejected frame is named. */
import type { z } from 'zod';
import {
  LauncherMessage,
  OperatorMessage,
  RankAssignment,
  SeriesFrame,
  StepReport,
  TerminationCause,
} from './report-protocol.ts';
import { type Bound, letters, listOf, refusedFields, withField } from './testing/one-field.ts';

const HUGE = Number.MAX_SAFE_INTEGER;
const SHA = 'a'.repeat(64);
const CHECKPOINT = { step: 20, directory: 'step-20', format: 'torch_dcp', bytes: 8, files: 1, manifestSha256: SHA };
const CAUSE = {
  version: 1,
  kind: 'engineFailed',
  epoch: 1,
  node: 'gpu-a',
  message: 'rank 1 exited with code 1',
  lastLines: [],
  unreportedCheckpoints: [CHECKPOINT],
};
const REPORT = {
  step: 3,
  loss: 4.5,
  tokens: 1024,
  learningRate: 0.001,
  gradNorm: 1.5,
  ranks: [{ rank: 0, stepTimeMs: 10, timingsMs: { forward: 4 } }],
};
const ENVELOPE = { podUid: 'u', epoch: 1, sequence: 1, rendezvous: null };
const HELLO = { ...ENVELOPE, kind: 'hello', jobUid: 'j', bootId: 'b', podIndex: 0, launcherVersion: '1.0.0' };
const HEARTBEAT = { ...ENVELOPE, kind: 'heartbeat', ranks: [{ rank: 0, alive: true, step: null }] };
const BROKEN_SAVE = { step: 20, directory: 'step-20', why: 'a file is cut' };
const GROUP = { group: '12', name: 'tensor', ranks: '0-7' };
const FACTS = { worldSize: 4, backend: 'nccl', parameterBytes: 8, optimizerBytes: 16 };
const PREFLIGHT = { outcome: 'Done', facts: {}, pairs: [], tookMs: 12 };
const STACKS = { request: 1, groups: [], silent: [], leftOut: '' };
const ASSIGNMENT = {
  epoch: 1,
  incarnation: 1,
  podIndex: 0,
  podCount: 2,
  ranks: '0-3',
  worldSize: 8,
  resume: { step: 20, path: 'tiny-gpt/e1/step-20', manifestSha256: SHA },
};
const STREAM = { bootId: 'b', sequence: 1, at: '2026-01-01T00:00:00Z' };
const { ranks: RANKS, ...VALUES } = REPORT;
const STEP_FRAME = {
  ...STREAM,
  ...VALUES,
  kind: 'step',
  jobUid: 'j',
  namespace: 'research',
  jobName: 'tiny-gpt',
  epoch: 1,
  ranks: RANKS,
  stepTimeMs: 10,
};

const tables: readonly (readonly [string, z.ZodType, unknown, readonly Bound[]])[] = [
  [
    'a hello',
    LauncherMessage,
    HELLO,
    [
      ['podUid', 'at most 64 characters', letters(64), letters(65)],
      ['epoch', 'at least 0', 0, -1],
      ['incarnation', 'counted from 1', 1, 0],
      ['incarnation', 'at most 2 to the 31st', 2_147_483_648, 2_147_483_649],
      ['state', 'one of three', 'reaped', 'gone'],
      ['sequence', 'an exact number', HUGE, HUGE + 1],
      ['rendezvous', 'null or an address of at most 255 characters', letters(255), letters(256)],
      ['rendezvous', 'never left out', null, undefined],
      ['jobUid', 'at most 64 characters', letters(64), letters(65)],
      ['bootId', 'at most 64 characters', letters(64), letters(65)],
      ['podIndex', 'whole', 1, 0.5],
      ['launcherVersion', 'at most 32 characters', letters(32), letters(33)],
      ['mood', 'not known', undefined, 'good'],
    ],
  ],
  [
    'a heartbeat',
    LauncherMessage,
    HEARTBEAT,
    [
      ['ranks', 'of the 16 ranks of a pod', listOf(16, HEARTBEAT.ranks[0]), listOf(17, HEARTBEAT.ranks[0])],
      ['ranks.0.rank', 'below the largest world size', 32_767, 32_768],
      ['ranks.0.alive', 'true or false', false, 1],
      ['ranks.0.step', 'null before the first step', null, undefined],
      ['ranks.0.mood', 'not known', undefined, 'good'],
      ['watermarks', 'at most 16', [], listOf(17, { rank: 0, step: null, phase: 'saving', phaseAgeMs: 0, groups: [] })],
      ['brokenSaves', 'at most 4', listOf(4, BROKEN_SAVE), listOf(5, BROKEN_SAVE)],
      ['processGroups', 'at most 256', listOf(256, GROUP), listOf(257, GROUP)],
    ],
  ],
  [
    'a message of steps',
    LauncherMessage,
    { ...ENVELOPE, kind: 'steps', reports: [REPORT], skipped: 0 },
    [
      ['reports', 'of at most 64 steps', listOf(64, REPORT), listOf(65, REPORT)],
      ['skipped', 'at most a million', 1_000_000, 1_000_001],
      ['skipped', 'at least 0', 0, -1],
      ['skipped', 'not left out', 0, undefined],
      ['reports.0.loss', 'finite', 1e30, 1.1e30],
    ],
  ],
  [
    'a message of trained facts',
    LauncherMessage,
    { ...ENVELOPE, kind: 'trained', rank: 0, facts: FACTS },
    [
      ['rank', 'at least 0', 0, -1],
      ['facts.backend', 'at most 64 characters', letters(64), letters(65)],
      [
        'facts.mesh',
        'of at most 32 dimensions',
        listOf(32, { name: 'dp', size: 2 }),
        listOf(33, { name: 'dp', size: 2 }),
      ],
      ['facts.groups', 'of at most 32 names', listOf(32, { name: 'dp', size: 2 }), listOf(33, { name: 'dp', size: 2 })],
      ['facts.wrappers', 'of at most 16 classes', listOf(16, 'torch.x'), listOf(17, 'torch.x')],
      ['facts.parameterBytes', 'at least 0', 0, -1],
      ['facts.optimizerBytes', 'not left out', 0, undefined],
      ['facts.optimizedParameters', 'whole', 2, 2.5],
    ],
  ],
  [
    'the address of a preflight board',
    LauncherMessage,
    { ...ENVELOPE, kind: 'preflightBoard', address: '10.0.0.1:4000', key: 'k' },
    [
      ['address', 'at most 255 characters', letters(255), letters(256)],
      ['key', 'not empty', 'k', ''],
      ['key', 'at most 64 characters', letters(64), letters(65)],
    ],
  ],
  [
    'a saved checkpoint',
    LauncherMessage,
    { ...ENVELOPE, kind: 'checkpointSaved', checkpoint: CHECKPOINT },
    [
      ['checkpoint.directory', 'one folder', 'step-20', '/step-20'],
      ['checkpoint.directory', 'or a folder in it', 'run/step-20', 'a/b/c'],
      ['checkpoint.directory', 'never above the save directory', '..a', '..'],
      ['checkpoint.directory', 'never above it by its second part', 'a/b', 'a/..'],
      ['checkpoint.directory', 'never that directory itself', '.a', '.'],
      ['checkpoint.directory', 'not empty', 'a', ''],
      ['checkpoint.directory', 'without spaces', 'a_b', 'a b'],
      ['checkpoint.format', 'at most 64 characters', letters(64), letters(65)],
      ['checkpoint.manifestSha256', 'in small letters', 'a'.repeat(64), 'A'.repeat(64)],
      ['checkpoint.bytes', 'an exact number', HUGE, HUGE + 1],
    ],
  ],
  [
    'the cause of an end',
    TerminationCause,
    CAUSE,
    [
      ['version', 'of this protocol', 1, 2],
      ['kind', 'one that has an exit code', 'doNotRestart', 'bored'],
      ['node', 'at most 253 characters', letters(253), letters(254)],
      ['rank', 'below the largest world size', 32_767, 32_768],
      ['exitCode', 'one that a process can have', 255, 256],
      ['exitCode', 'at least 0', 0, -1],
      ['signal', 'at most 16 characters', 'SIGKILL', letters(17)],
      ['message', 'at most 1024 characters', letters(1024), letters(1025)],
      ['lastLines', 'at most 20', listOf(20, 'x'), listOf(21, 'x')],
      ['lastStep', 'whole', 3, 3.5],
      ['checkpointFault', 'one with a kind', { kind: 'MountBroken', path: '/c' }, 'EIO'],
      ['unreportedCheckpoints', 'at most 4', listOf(4, CHECKPOINT), listOf(5, CHECKPOINT)],
      ['unreportedCheckpoints', 'not left out', [], undefined],
      ['host', 'not known', undefined, 'gpu-a'],
    ],
  ],
  [
    'an assignment of ranks',
    RankAssignment,
    ASSIGNMENT,
    [
      ['incarnation', 'counted from 1', 1, 0],
      ['podCount', 'at least 1', 1, 0],
      ['podCount', 'at most 32768', 32_768, 32_769],
      ['ranks', 'empty for a spare', '', undefined],
      ['ranks', 'ranges', '0-3,8-11', '0..3'],
      ['ranks', 'at most 96 characters', '16384,'.repeat(15) + '16384', '16384,'.repeat(16) + '16384'],
      ['worldSize', 'at least 1', 1, 0],
      ['worldSize', 'at most 32768', 32_768, 32_769],
      ['saveDirectory', 'at most 1024 characters', letters(1024), letters(1025)],
      ['resume', 'left out for a start from scratch', undefined, null],
      ['resume.manifestSha256', '64 digits', SHA, SHA.slice(1)],
      ['resume.epoch', 'not known', undefined, 1],
      ['onFailure', 'to wait, or nothing', 'wait', 'exit'],
    ],
  ],
  [
    'a report of a step',
    StepReport,
    REPORT,
    [
      ['loss', 'null if no rank knows it', null, undefined],
      ['loss', 'finite', -1e30, -Infinity],
      ['loss', 'a number', 0, Number.NaN],
      ['tokens', 'at least 0', 0, -1],
      ['learningRate', 'null or a number', null, '0.001'],
      ['gradNorm', 'null or a number', null, Infinity],
      ['ranks', 'timings of at most 16 ranks', listOf(16, RANKS[0]), listOf(17, RANKS[0])],
      ['notFinite.loss', 'one of three words', '-Infinity', 'nan'],
      ['notFinite.gradNorm', 'one of three words', 'NaN', 0],
      ['notFinite.tokens', 'not known', undefined, 'NaN'],
    ],
  ],
  [
    'a step of the stream',
    SeriesFrame,
    STEP_FRAME,
    [
      ['bootId', 'at most 64 characters', letters(64), letters(65)],
      ['sequence', 'at least 0', 0, -1],
      ['at', 'not left out', 'now', undefined],
      ['stepTimeMs', 'at most a trillion', 1e12, 1e12 + 1],
      ['stepTimeMs', 'at least 0', 0, -1],
      ['notFinite', 'only on the way to the operator', undefined, { loss: 'NaN' }],
      ['epoch', 'not left out', 1, undefined],
    ],
  ],
];

describe.each(tables)('of %s', (_what, schema, whole, bounds) => {
  it.each(bounds)('%s is %s', (field, _rule, kept, broken) => {
    expect(refusedFields(schema, withField(whole, field, kept))).toEqual([]);
    expect(refusedFields(schema, withField(whole, field, broken))).toEqual([field]);
  });
});

describe('a message of a launcher', () => {
  it.each<[string, object]>([
    ['hello', HELLO],
    ['heartbeat', HEARTBEAT],
    ['step', { ...ENVELOPE, kind: 'step', report: REPORT }],
    ['resumed', { ...ENVELOPE, kind: 'resumed', step: 20 }],
    ['preflight', { ...ENVELOPE, kind: 'preflight', report: PREFLIGHT }],
    ['stacks', { ...ENVELOPE, kind: 'stacks', stacks: STACKS }],
    ['reaped, by order', { ...ENVELOPE, kind: 'reaped' }],
    ['reaped, after a failure', { ...ENVELOPE, kind: 'reaped', cause: CAUSE }],
    ['ended', { ...ENVELOPE, kind: 'ended', cause: CAUSE }],
  ])('%s is accepted', (_kind, message) => {
    expect(refusedFields(LauncherMessage, message)).toEqual([]);
  });

  it.each<[string, object, readonly string[]]>([
    ['without a kind is rejected by its kind', { ...ENVELOPE }, ['kind']],
    ['of a kind of the operator is rejected', { ...ENVELOPE, kind: 'ack' }, ['kind']],
    ['that ended needs a cause', { ...ENVELOPE, kind: 'ended' }, ['cause']],
    ['that resumed needs a step', { ...ENVELOPE, kind: 'resumed' }, ['step']],
    ['has no fields of another kind', { ...ENVELOPE, kind: 'resumed', step: 1, cause: CAUSE }, ['cause']],
    ['about a step reports one step', { ...ENVELOPE, kind: 'step', reports: [REPORT] }, ['report', 'reports']],
    ['needs its envelope', { kind: 'resumed', step: 1 }, ['podUid', 'epoch', 'sequence', 'rendezvous']],
  ])('%s', (_sentence, message, fields) => {
    expect(refusedFields(LauncherMessage, message)).toEqual(fields);
  });

  it('about trained facts counts no mesh, group and wrapper if none is given', () => {
    expect(LauncherMessage.parse({ ...ENVELOPE, kind: 'trained', rank: 0, facts: FACTS })).toMatchObject({
      facts: { mesh: [], groups: [], wrappers: [] },
    });
  });
});

const VERIFY = { kind: 'verifyWanted', epoch: 1, incarnation: 1 };
const SUSPECT = { checkpoint: 'c', path: 'p', manifestSha256: 'a'.repeat(64), files: ['/c/p/x'] };

describe('a message of the operator', () => {
  it.each<[string, object, readonly string[]]>([
    ['welcomes with the term of the leader', { kind: 'welcome', leaderTerm: 3 }, []],
    ['welcomes with a term', { kind: 'welcome' }, ['leaderTerm']],
    ['assigns ranks', { kind: 'assignment', assignment: ASSIGNMENT }, []],
    ['ends ranks of one incarnation', { kind: 'endRanks', epoch: 1, incarnation: 2, message: 'rank 3 failed' }, []],
    ['ends no ranks of incarnation 0', { kind: 'endRanks', epoch: 1, incarnation: 0, message: '' }, ['incarnation']],
    ['asks for a save', { kind: 'saveWanted', epoch: 1, incarnation: 1, request: 1, why: 'XID 79 on gpu-a' }, []],
    ['counts saves from 1', { kind: 'saveWanted', epoch: 1, incarnation: 1, request: 0, why: '' }, ['request']],
    ['gives a short reason', { kind: 'saveWanted', epoch: 1, incarnation: 1, request: 1, why: letters(513) }, ['why']],
    ['asks to verify checkpoints', { ...VERIFY, checkpoints: listOf(4, SUSPECT) }, []],
    ['asks to verify four checkpoints at most', { ...VERIFY, checkpoints: listOf(5, SUSPECT) }, ['checkpoints']],
    ['names the address of rank 0', { kind: 'rendezvous', address: '10.0.0.1:29500' }, []],
    ['names an address of at most 255', { kind: 'rendezvous', address: letters(256) }, ['address']],
    ['lets ranks start', { kind: 'preflightDone', epoch: 1 }, []],
    ['sets the slowest pace', { kind: 'pace', stepsPerSecond: 0.01, gatherMs: 60_000 }, []],
    ['sets the fastest pace', { kind: 'pace', stepsPerSecond: 1_000, gatherMs: 0 }, []],
    ['stops no steps by pace', { kind: 'pace', stepsPerSecond: 0, gatherMs: 0 }, ['stepsPerSecond']],
    ['sets a pace below a thousand', { kind: 'pace', stepsPerSecond: 1_001, gatherMs: 0 }, ['stepsPerSecond']],
    ['gathers for a minute at most', { kind: 'pace', stepsPerSecond: 1, gatherMs: 60_001 }, ['gatherMs']],
    ['announces the parts that it reads', { kind: 'listensTo', parts: ['watermarks', 'notFinite'] }, []],
    ['announces at most 16 parts', { kind: 'listensTo', parts: listOf(17, 'x') }, ['parts']],
    ['asks for stacks of at least 4 kB', { kind: 'stacksWanted', request: 1, maxBytes: 4_096 }, []],
    ['asks for no smaller stacks', { kind: 'stacksWanted', request: 1, maxBytes: 4_095 }, ['maxBytes']],
    ['asks for stacks of at most a frame', { kind: 'stacksWanted', request: 1, maxBytes: 262_144 }, []],
    ['asks for no stacks beyond a frame', { kind: 'stacksWanted', request: 1, maxBytes: 262_145 }, ['maxBytes']],
    ['acknowledges', { kind: 'ack', sequence: 9 }, []],
    ['rejects with a code that is known', { kind: 'refused', code: 'bored', message: '' }, ['code']],
    ['names the leader', { kind: 'refused', code: 'notLeader', message: 'm', leaderUrl: 'https://a:1' }, []],
    ['has no fields that are not known', { kind: 'ack', sequence: 9, epoch: 1 }, ['epoch']],
    ['is of a kind that is known', { kind: 'hello' }, ['kind']],
  ])('%s', (_sentence, message, fields) => {
    expect(refusedFields(OperatorMessage, message)).toEqual(fields);
  });

  it.each(['notLeader', 'staleEpoch', 'unknownPod', 'unauthenticated', 'malformed', 'notReady'])(
    'may reject with %s',
    (code) => {
      expect(refusedFields(OperatorMessage, { kind: 'refused', code, message: 'm' })).toEqual([]);
    },
  );
});

describe('a frame of the stream', () => {
  it.each<[string, object, readonly string[]]>([
    ['may only keep the stream alive', { ...STREAM, kind: 'keepalive' }, []],
    ['keeps alive without values', { ...STREAM, kind: 'keepalive', loss: 1 }, ['loss']],
    ['is a step or a keepalive', { ...STREAM, kind: 'gap' }, ['kind']],
  ])('%s', (_sentence, frame, fields) => {
    expect(refusedFields(SeriesFrame, frame)).toEqual(fields);
  });
});
