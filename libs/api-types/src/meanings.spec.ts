/** Words that the API, dashboards and alerts of users rely on: which exist, and what follows from each. */
import { ATTEMPT_REASONS } from './attempt-reasons.ts';
import { AVOIDED_NODE_REASONS } from './avoided-node.ts';
import { CONDITION_REASONS, type ConditionType } from './conditions.ts';
import { CRASH_CLASSES, type CrashBlame, type CrashClass } from './crash-class.ts';
import { GOODPUT_CATEGORIES } from './goodput.ts';
import { API_EVENTS, JOB_EVENTS, OPERATOR_EVENTS } from './job-event-types.ts';
import { INCIDENT_ACTIONS, INCIDENT_KINDS, INCIDENT_OUTCOMES } from './incident.ts';
import { FINAL_JOB_STATES, type Job } from './rest.ts';
import { JOB_STATES } from './training-job.ts';
import { PERSON_REASONS } from './webhook.ts';
import { PROJECT_ROLES, ROLES } from './who-am-i.ts';

describe('a crash of class', () => {
  it.each<[CrashClass, CrashBlame]>([
    ['GpuLost', 'node'],
    ['GpuMemoryError', 'node'],
    ['NvlinkError', 'node'],
    ['GpuFault', 'node'],
    ['GpuUnavailable', 'node'],
    ['NodeUnhealthy', 'node'],
    ['MaintenanceDue', 'cluster'],
    ['Disrupted', 'cluster'],
    ['AddressInUse', 'cluster'],
    ['GpuOutOfMemory', 'program'],
    ['HostOutOfMemory', 'program'],
    ['ScratchFull', 'program'],
    ['DeviceAssertion', 'program'],
    ['Diverged', 'program'],
    ['CheckpointMismatch', 'program'],
    ['ImportFailed', 'program'],
    ['SyntaxFailed', 'program'],
    ['BadArguments', 'program'],
    ['AssertionFailed', 'program'],
    ['FileMissing', 'program'],
    ['PermissionDenied', 'program'],
    ['AccessDenied', 'program'],
    ['PythonException', 'program'],
    ['StopAsked', 'program'],
    ['DiskFull', 'storage'],
    ['StorageError', 'storage'],
    ['NetworkError', 'network'],
    ['DownloadFailed', 'network'],
    ['ObjectStoreFailed', 'storage'],
    ['MountMissing', 'storage'],
    ['RendezvousFailed', 'network'],
    ['WorldSizeDiffers', 'program'],
    ['NameResolutionFailed', 'network'],
    ['NodeOutOfMemory', 'node'],
    ['ClockSkewed', 'node'],
    ['SharedMemoryFull', 'environment'],
    ['CudaLibraryFailed', 'environment'],
    ['NcclSystemError', 'environment'],
    ['LimitReached', 'environment'],
    ['TrackerFailed', 'environment'],
    ['CertificateInvalid', 'environment'],
    ['NcclMisused', 'program'],
    ['CollectiveTimeout', 'unknown'],
    ['PeerLost', 'unknown'],
    ['IllegalMemoryAccess', 'unknown'],
    ['CudaError', 'unknown'],
    ['NcclError', 'unknown'],
    ['Segfault', 'unknown'],
    ['BusError', 'unknown'],
    ['Aborted', 'unknown'],
    ['Killed', 'unknown'],
    ['Unknown', 'unknown'],
  ])('%s blames the %s, and says what to do', (name, blame) => {
    const { meaning, advice } = CRASH_CLASSES[name];
    expect(CRASH_CLASSES[name].blame).toBe(blame);
    expect([meaning, advice]).toEqual([expect.stringMatching(/^\S.*\.$/), expect.stringMatching(/^[A-Z].*\.$/)]);
  });

  it('has one of these 56 classes', () => {
    expect(Object.keys(CRASH_CLASSES)).toHaveLength(56);
  });
});

describe('an attempt that ends for', () => {
  it.each<[keyof typeof ATTEMPT_REASONS, boolean]>([
    ['LimitExceeded', true],
    ['TurnedAway', false],
    ['NotCreated', false],
    ['NotStarted', false],
    ['SecretMissing', true],
    ['Condemned', false],
    ['Hung', true],
    ['PreflightFailed', false],
    ['NotReaped', false],
    ['GpusFree', false],
    ['NodeLeaving', false],
    ['MadeRoom', false],
    ['QuotaEvicted', false],
  ])('%s counts against the restarts: %s', (reason, charged) => {
    expect(ATTEMPT_REASONS[reason].charged).toBe(charged);
  });

  it('is charged for seven reasons and no other', () => {
    const charged = Object.entries(ATTEMPT_REASONS).flatMap(([reason, { charged }]) => (charged ? [reason] : []));
    expect(charged).toEqual([
      'EngineFailed',
      'DoNotRestart',
      'NothingTrained',
      'LauncherFailed',
      'PodLost',
      'LimitExceeded',
      'SecretMissing',
      'Hung',
    ]);
  });
});

describe('reasons of condition', () => {
  it.each<[ConditionType, readonly string[]]>([
    ['Accepted', ['SpecValid', 'SpecInvalid', 'NoLayoutFits', 'LayoutInvalid', 'EngineRefused', 'RuntimeRefused']],
    [
      'Placed',
      [
        'GangPlaced',
        'Placing',
        'WaitingForCapacity',
        'WaitingForQuota',
        'NotAccepted',
        'Planning',
        'ReadingRuntime',
        'WaitingForPlan',
        'TopologyUnsatisfiable',
        'WaitingForRestartDelay',
        'ObjectMissing',
        'PriorityClassMissing',
        'PodsRefused',
        'CheckpointsUnusable',
        'ConvertingCheckpoint',
        'WaitingForPreviousEpoch',
        'Suspended',
        'Finished',
      ],
    ],
    ['NodesRequested', ['Requested', 'Provisioned', 'Failed', 'Refused', 'NotServed', 'TurnedOff']],
    [
      'Running',
      [
        'GangRunning',
        'NodesInDoubt',
        'RanksFinished',
        'ProcessesStopped',
        'NotTraining',
        'BeforeFirstStep',
        'RanksBusy',
        'EndHeld',
        'LaunchersSilent',
        'RestartingInPlace',
        'PodsCreating',
        'PodsStarting',
        'ImagePulling',
        'ImageUnavailable',
        'SecretMissing',
        'PodStuck',
        'Denied',
        'Stopping',
        'NotStarted',
        'Finished',
      ],
    ],
    ['CheckpointsRecorded', ['CheckpointRefused']],
    ['FabricAsPlaced', ['LabelsChanged']],
    ['TrainedAsAsked', ['NothingDiffers', 'LayoutDiffers']],
    ['LoadsOnFewerGpus', ['CheckpointLoads', 'SomeLayoutsDoNotLoad', 'CheckpointDoesNotLoad']],
    ['MaxRuntimeNear', ['LimitNear']],
    ['Suspended', ['SuspendRequested', 'Stopping', 'NotSuspended']],
    ['Complete', ['AllRanksSucceeded']],
    [
      'Failed',
      [
        'RestartsExhausted',
        'NoProgress',
        'SameTraceback',
        'FailurePolicy',
        'DoNotRestart',
        'NothingTrained',
        'Cancelled',
        'MaxRuntimeReached',
        'NameConflict',
      ],
    ],
  ])('%s stay as users filter by them', (type, reasons) => {
    expect(Object.keys(CONDITION_REASONS[type])).toEqual(reasons);
  });

  it.each<[ConditionType, string, boolean]>([
    ['Accepted', 'LayoutInvalid', true],
    ['Accepted', 'SpecValid', false],
    ['Placed', 'CheckpointsUnusable', true],
    ['Placed', 'PodsRefused', true],
    ['Placed', 'ObjectMissing', true],
    ['Placed', 'WaitingForCapacity', false],
    ['Running', 'ImageUnavailable', true],
    ['Running', 'ImagePulling', false],
    ['Running', 'SecretMissing', true],
    ['Running', 'PodStuck', true],
    ['Running', 'Denied', true],
    ['Failed', 'RestartsExhausted', false],
  ])('%s %s call a person by webhook: %s', (type, reason, want) => {
    const calling: readonly string[] = PERSON_REASONS[type] ?? [];
    expect(calling.includes(reason)).toBe(want);
  });
});

describe('a state of a job', () => {
  it.each<[Job['state'], boolean]>([
    ['Submitting', false],
    ['Queued', false],
    ['Starting', false],
    ['Running', false],
    ['Restarting', false],
    ['Suspending', false],
    ['Suspended', false],
    ['Stopping', false],
    ['Deleting', false],
    ['Complete', true],
    ['Failed', true],
    ['Cancelled', true],
    ['Refused', true],
    ['Deleted', true],
  ])('%s is final: %s', (state, want) => {
    expect(FINAL_JOB_STATES.has(state)).toBe(want);
  });

  it('of the resource is one of ten', () => {
    expect(JOB_STATES).toHaveLength(10);
  });
});

function meaningsOf(words: Readonly<Record<string, { readonly meaning: string }>>): Record<string, string> {
  return Object.fromEntries(Object.entries(words).map(([word, { meaning }]) => [word, meaning]));
}

describe('words of records that are kept', () => {
  it.each<[string, object, string]>([
    [
      'kinds of incidents',
      INCIDENT_KINDS,
      'Crash NodeLost NodeLeaving Evicted StartFailed CheckpointTrouble Hang NetworkHang Desync NotTraining SlowRank SlowLink SlowJob Imbalance CollectionPauses DataStall BadLoss',
    ],
    [
      'actions on incidents',
      INCIDENT_ACTIONS,
      'None Advised RestartedInPods RestartedInNewPods RestartedElsewhere Moved GaveUp',
    ],
    ['outcomes of incidents', INCIDENT_OUTCOMES, 'Recovered Passed FailedAgain RunEnded Stopped GivenUp'],
    [
      'reasons to avoid a node',
      AVOIDED_NODE_REASONS,
      'NodeLost NotScheduled NotStarted NotStopped TurnedAway NotReaped CheckpointIoError ContentDiffers PreflightFailed Condemned Leaving FailurePolicy',
    ],
    [
      'categories of GPU-seconds',
      GOODPUT_CATEGORIES,
      'productive initialisation checkpointRestore checkpointSave preemption wastedProgress infrastructureRecovery programRecovery unexplainedRecovery slow plannedStop standby lostNode other',
    ],
    [
      'events of a job',
      meaningsOf(JOB_EVENTS),
      'Submitted Planned Waiting StartExpected RoomAsked RoomNotMade Placed Resuming Started Running Resumed LayoutDiffers SaveAsked SaveMissed CheckpointSaved CheckpointRefused ShrinkBlocked CheckpointDamaged CheckpointSuspect CheckpointPassedOver IncidentNoticed RankFailed RestartsNearlySpent MaxRuntimeNear MakesRoom Restarting IncidentOver WorkLost Suspended Completed Failed Cancelled',
    ],
    ['events of the API', meaningsOf(API_EVENTS), 'Refused ChangeRefused'],
    [
      'events of the operator',
      meaningsOf(OPERATOR_EVENTS),
      'CannotProceed CheckpointCleared CheckpointConverted CheckpointDeleted CheckpointKept ConversionFailed FabricChanged ForeignPlacement RanksUnwell RuntimeUser',
    ],
  ])('%s stay, each with a sentence', (_what, words, want) => {
    expect(Object.keys(words).join(' ')).toBe(want);
    for (const meaning of Object.values(words)) expect(meaning).toMatch(/^[A-Z].*\.$/s);
  });

  it('roles grow from viewer to the administrator of the cluster', () => {
    expect(PROJECT_ROLES).toEqual(['viewer', 'submitter', 'operator', 'admin']);
    expect(ROLES.slice(PROJECT_ROLES.length)).toEqual(['clusterAdmin']);
  });
});
