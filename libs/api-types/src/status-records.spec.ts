/** Records inside the status of a job: bounds of incidents, failures, incarnations and early saves. */
import { aLayout } from '@coxswain/layout/testing';
import type { z } from 'zod';
import { Attempt, AttemptPace, EarlySave, EndedIncarnation } from './attempt.ts';
import { AvoidedNode } from './avoided-node.ts';
import { CheckpointEvidence, CheckpointFault } from './checkpoint-fault.ts';
import { UnrecordedCheckpoint } from './checkpoint.ts';
import { FailureJudgement, FailureTally } from './failure-record.ts';
import { Incident, RankOperation } from './incident.ts';
import { JobPlan } from './job-plan.ts';
import { PlacementSpec } from './placement.ts';
import { AttemptPreflight, Fingerprint } from './preflight.ts';
import { RecordedPlaces } from './recorded-places.ts';
import { anAttempt, anIncident } from './testing/index.ts';
import { type Bound, letters, listOf, refusedFields, withField } from './testing/one-field.ts';
import { AttemptTrained } from './trained-facts.ts';
import { TrainingJobStatus } from './training-job.ts';

const AT = '2026-01-01T00:00:00Z';
const SHA = 'a'.repeat(64);
const JUDGEMENT = { rule: 'nodes', action: 'RestartElsewhere', class: 'GpuLost', blame: 'node' };
const INCARNATION = {
  incarnation: 1,
  endedAt: AT,
  reason: 'EngineFailed',
  charged: true,
  lastLines: ['x'],
  origin: {},
};
const SAVE = { request: 1, incarnation: 1, askedAt: AT, afterStep: 20, why: 'XID 79', suspicions: ['xid'] };
const STOP = { step: 20, ms: 5 };
const CHECKPOINT = {
  jobName: 'a',
  jobUid: 'u',
  epoch: 1,
  step: 1,
  claimName: 'c',
  path: 'p',
  layout: aLayout(),
  format: 'torch_dcp',
  bytes: 1,
  files: 1,
  manifestSha256: SHA,
};
const UNRECORDED = { name: 'a-e1-s1', spec: CHECKPOINT, refusal: 'exceeded quota' };
const OPERATION = { rank: 3, phase: 'training', step: 12, operation: 'all_reduce', group: '3', sequence: 7, forMs: 9 };
const INCIDENT = { ...anIncident(), evidence: [{ name: 'xid', value: '79' }], operations: [OPERATION] };
const AVOIDED = { node: 'gpu-a', reason: 'NodeLost', epoch: 1, since: AT };
const TALLY = {
  withoutProgress: 0,
  sinceCheckpoint: 0,
  spent: [{ blame: 'node', total: 1, times: [AT] }],
  traceback: { fingerprint: 'ValueError', times: 1, nodes: ['gpu-a'] },
};
const PLAN = { chosenBy: 'Planner', gpus: 4, fabric: 'f', plannerVersion: '1', plannedAt: AT };
const PLACEMENT = { jobName: 'a', jobUid: 'u', epoch: 1, layout: aLayout(), worldSize: 1, ranks: ['0'], nodes: ['n'] };

const tables: readonly (readonly [string, z.ZodType, unknown, readonly Bound[]])[] = [
  [
    'an attempt',
    Attempt,
    anAttempt(),
    [
      ['placementSha256', '64 digits', SHA, SHA.slice(1)],
      ['placementSha256', 'in small letters', SHA, 'A'.repeat(64)],
      ['leaderTerm', 'at least 0', 0, -1],
      ['incarnation', 'counted from 1', 1, 0],
      ['incarnations', 'at most 8', listOf(8, INCARNATION), listOf(9, INCARNATION)],
      ['resumedFrom', 'a checkpoint and its step', { checkpoint: 'c', step: 1, path: 'p' }, 'c'],
      ['firstStep', 'a step and its time', { step: 1, at: AT }, 1],
      ['clock.saves', 'at most 8', listOf(8, STOP), listOf(9, STOP)],
      ['saves', 'at most 512 characters', letters(512), letters(513)],
      ['answer', 'a restart or none', 'Restart', 'Retry'],
      ['judgement', 'one with a rule', JUDGEMENT, 'nodes'],
      ['outcome', 'one of six', 'Moved', 'Running'],
      ['origin', 'a place and an exit', { rank: 1, pod: 'p', node: 'n', exitCode: 137, signal: 'SIGKILL' }, 'rank 1'],
      ['heldByFenced', 'at most 16 changes', listOf(16, { at: AT, gpus: 2 }), listOf(17, { at: AT, gpus: 2 })],
      ['fingerprint', 'of short words', { torch: '2.9.0' }, '2.9.0'],
      ['prediction', 'one of the planner', undefined, 1],
    ],
  ],
  [
    'an incarnation that ended',
    EndedIncarnation,
    INCARNATION,
    [
      ['incarnation', 'counted from 1', 1, 0],
      ['endedAt', 'not left out', AT, undefined],
      ['reason', 'one that is declared', 'CheckpointIoError', 'Bored'],
      ['message', 'at most 1024 characters', letters(1024), letters(1025)],
      ['charged', 'not left out', false, undefined],
      ['lastStep', 'at least 0', 0, -1],
      ['restoredAt', 'a text', AT, 1],
      ['firstStep', 'a step with its time', { step: 0, at: AT }, AT],
      ['origin.exitCode', 'at most 65,535', 65_535, 65_536],
      ['lastLines', 'at most 20', listOf(20, 'x'), listOf(21, 'x')],
      ['lastLines.0', 'at most 300 characters', letters(300), letters(301)],
      ['judgement', 'one with an action', JUDGEMENT, 1],
    ],
  ],
  [
    'a request to save early',
    EarlySave,
    SAVE,
    [
      ['request', 'counted from 1', 1, 0],
      ['incarnation', 'counted from 1', 1, 0],
      ['afterStep', 'at least 0', 0, -1],
      ['why', 'at most 512 characters', letters(512), letters(513)],
      ['suspicions', 'at most 16', listOf(16, 'x'), listOf(17, 'x')],
      ['suspicions.0', 'at most 128 characters', letters(128), letters(129)],
      ['outcome', 'one of three', 'RanksEnded', 'Lost'],
      ['savedStep', 'whole', 21, 21.5],
    ],
  ],
  [
    'a pace',
    AttemptPace,
    { steps: 1, inStepsMs: 1, betweenStepsMs: 1, saves: 1 },
    [
      ['steps', 'at least 0', 0, -1],
      ['inStepsMs', 'whole', 1, 1.5],
      ['betweenStepsMs', 'not left out', 0, undefined],
      ['saves', 'at least 0', 0, -1],
    ],
  ],
  [
    'a judgement',
    FailureJudgement,
    JUDGEMENT,
    [
      ['rule', 'at most 63 characters', letters(63), letters(64)],
      ['action', 'one of four', 'RestartInNewPods', 'Wait'],
      ['class', 'one that is declared', 'Segfault', 'Gremlin'],
      ['blame', 'one of six', 'storage', 'user'],
      ['budget', 'one of six', 'network', 'all'],
      ['delayMs', 'at least 0', 0, -1],
      ['givenUp', 'one of four', 'SameTraceback', 'Cancelled'],
      ['says', 'at most 768 characters', letters(768), letters(769)],
    ],
  ],
  [
    'a count of failures',
    FailureTally,
    TALLY,
    [
      ['furthestStep', 'at least 0', 0, -1],
      ['checkpointStep', 'whole', 20, 20.5],
      ['withoutProgress', 'not left out', 0, undefined],
      ['sinceCheckpoint', 'at least 0', 0, -1],
      ['spent', 'one for each blame', listOf(7, TALLY.spent[0]), listOf(8, TALLY.spent[0])],
      ['spent.0.blame', 'one of seven', 'environment', 'nobody'],
      ['spent.0.times', 'at most 50', listOf(50, AT), listOf(51, AT)],
      ['traceback.fingerprint', 'at most 512 characters', letters(512), letters(513)],
      ['traceback.times', 'counted from 1', 1, 0],
      ['traceback.nodes', 'at most two', listOf(2, 'gpu-a'), listOf(3, 'gpu-a')],
    ],
  ],
  [
    'an incident',
    Incident,
    INCIDENT,
    [
      ['id', 'the run and a word', '2.1-slowRank-r3', '2.1_slowRank'],
      ['id', 'without a dot at its end', '2.1', '2.'],
      ['id', 'at most 96 characters', letters(96), letters(97)],
      ['kind', 'one that is declared', 'Desync', 'Boredom'],
      ['incarnation', 'counted from 1', 1, 0],
      ['message', 'at most 1024 characters', letters(1024), letters(1025)],
      ['ranks', 'at most 16', listOf(16, 0), listOf(17, 0)],
      ['node', 'at most 253 characters', letters(253), letters(254)],
      ['class', 'one that is declared', 'DiskFull', 'Gremlin'],
      ['blame', 'one of six', 'cluster', 'user'],
      ['evidence', 'at most 16', listOf(16, INCIDENT.evidence[0]), listOf(17, INCIDENT.evidence[0])],
      ['evidence.0.name', 'at most 64 characters', letters(64), letters(65)],
      ['evidence.0.value', 'at most 256 characters', letters(256), letters(257)],
      ['operations', 'at most 8', listOf(8, OPERATION), listOf(9, OPERATION)],
      ['gpus', 'not left out', 4, undefined],
      ['stepMs', 'at least 0', 0.5, -0.5],
      ['costMsPerStep', 'at least 0', 0.5, -0.5],
      ['action', 'one that is declared', 'GaveUp', 'Ignored'],
      ['outcome', 'one that is declared', 'FailedAgain', 'Fixed'],
      ['redoneSteps', 'whole', 3, 3.5],
      ['lostMs', 'at least 0', 0, -1],
    ],
  ],
  [
    'the last operation of a rank',
    RankOperation,
    OPERATION,
    [
      ['rank', 'at least 0', 0, -1],
      ['phase', 'one of six', 'compiling', 'sleeping'],
      ['operation', 'at most 32 characters', letters(32), letters(33)],
      ['group', 'at most 64 characters', letters(64), letters(65)],
      ['sequence', 'whole', 7, 7.5],
      ['forMs', 'at least 0', 0, -1],
    ],
  ],
  [
    'a node that is avoided',
    AvoidedNode,
    AVOIDED,
    [
      ['node', 'at most 253 characters', letters(253), letters(254)],
      ['reason', 'one that is declared', 'ContentDiffers', 'Ugly'],
      ['epoch', 'at least 0', 0, -1],
      ['since', 'not left out', AT, undefined],
      ['bootId', 'at most 128 characters', letters(128), letters(129)],
    ],
  ],
  [
    'a fault of a checkpoint',
    CheckpointFault,
    { kind: 'FileUnreadable', path: '/c/x' },
    [
      ['kind', 'one of three', 'ContentDiffers', 'Gone'],
      ['path', 'at most 256 characters', letters(256), letters(257)],
      ['errno', 'at most 32 characters', letters(32), letters(33)],
      ['expected', 'at most 128 characters', letters(128), letters(129)],
      ['found', 'at most 128 characters', letters(128), letters(129)],
      ['node', 'not known to who sees it', undefined, 'gpu-a'],
    ],
  ],
  [
    'evidence against a checkpoint',
    CheckpointEvidence,
    { kind: 'FileUnreadable', path: '/c/x', node: 'gpu-a', epoch: 1 },
    [
      ['node', 'not left out', 'gpu-a', undefined],
      ['epoch', 'at least 0', 0, -1],
    ],
  ],
  [
    'a checkpoint without its object',
    UnrecordedCheckpoint,
    UNRECORDED,
    [
      ['name', 'at most 253 characters', letters(253), letters(254)],
      ['spec.step', 'at least 0', 0, -1],
      ['spec.incarnation', 'counted from 1', 1, 0],
      ['refusal', 'at most 1024 characters', letters(1024), letters(1025)],
    ],
  ],
  [
    'the preflight of an attempt',
    AttemptPreflight,
    { outcome: 'Passed', tookMs: 900, notes: ['clocks differ'] },
    [
      ['outcome', 'one of three', 'NodesNamed', 'Failed'],
      ['tookMs', 'whole', 1, 1.5],
      ['notes', 'at most 8', listOf(8, 'x'), listOf(9, 'x')],
      ['notes.0', 'at most 256 characters', letters(256), letters(257)],
    ],
  ],
  [
    'a fingerprint',
    Fingerprint,
    {},
    [
      ['image', 'at most 512 characters', letters(512), letters(513)],
      ['torch', 'at most 64 characters', letters(64), letters(65)],
      ['driver', 'at most 64 characters', letters(64), letters(65)],
    ],
  ],
  [
    'what was trained',
    AttemptTrained,
    { incarnation: 1, differences: ['x'] },
    [
      ['incarnation', 'counted from 1', 1, 0],
      ['seen', 'at most 512 characters', letters(512), letters(513)],
      ['differences', 'at most 4', listOf(4, 'x'), listOf(5, 'x')],
      ['differences.0', 'at most 512 characters', letters(512), letters(513)],
    ],
  ],
  [
    'a plan',
    JobPlan,
    PLAN,
    [
      ['runtime', 'at most 320 characters', letters(320), letters(321)],
      [
        'stageGpus',
        'of at most 64 parts',
        listOf(64, { stages: 1, gpuType: 'h' }),
        listOf(65, { stages: 1, gpuType: 'h' }),
      ],
      ['whyStages', 'at most 1024 characters', letters(1024), letters(1025)],
      ['forEpoch', 'at least 0', 0, -1],
      ['noLayoutFor', 'whole', 2, 2.5],
    ],
  ],
  [
    'a placement',
    PlacementSpec,
    PLACEMENT,
    [
      ['saveEverySteps', 'at least 1', 1, 0],
      ['saveEverySteps', 'at most a billion', 1_000_000_000, 1_000_000_001],
      ['ranks', 'not an empty list', ['0'], []],
      ['ranks.0', 'ranges', '0-3,8', '3-'],
      ['ranks.0', 'at most 96 characters', Array(16).fill('16384').join(','), Array(17).fill('16384').join(',')],
      ['nicClasses', 'of at most 63 characters', ['infiniband'], 'infiniband'],
      ['network', 'sockets or nothing', 'Sockets', 'Nics'],
      ['runtime', 'a copy', undefined, 'efa'],
    ],
  ],
  [
    'a status',
    TrainingJobStatus,
    {},
    [
      ['incidents', 'at most 20', listOf(20, INCIDENT), listOf(21, INCIDENT)],
      ['avoidedNodes', 'at most 64', listOf(64, AVOIDED), listOf(65, AVOIDED)],
      ['unrecordedCheckpoints', 'at most 8', listOf(8, UNRECORDED), listOf(9, UNRECORDED)],
      ['failures', 'counts', TALLY, 3],
      ['notBefore', 'a text', AT, 0],
    ],
  ],
  [
    'places that a placement keeps',
    RecordedPlaces,
    { places: [['nvl-a', 'ib-0', null]], of: [0] },
    [
      ['places', 'at most 4096', listOf(4_096, [null, 'ib-0', null]), listOf(4_097, [null, 'ib-0', null])],
      ['places.0.0', 'null for a domain of its own', null, 1],
      ['places.0.1', 'an island that is known', 'ib-0', null],
      ['of.0', '-1 for a node that was not known', -1, -2],
    ],
  ],
];

describe.each(tables)('of %s', (_what, schema, whole, bounds) => {
  it.each(bounds)('%s is %s', (field, _rule, kept, broken) => {
    expect(refusedFields(schema, withField(whole, field, kept))).toEqual([]);
    expect(refusedFields(schema, withField(whole, field, broken))).toEqual([field]);
  });
});
