import { kueueFindings, type KueueObjects } from './kueue-findings.ts';
import type { ReadObject } from './read-object.ts';

const QUEUE = 'kueue.x-k8s.io/queue-name';
const CHECK = 'training.coxswain.dev/placement';

const aJob = (name: string, queue?: string): ReadObject => ({
  metadata: { name, namespace: 'team', ...(queue === undefined ? {} : { labels: { [QUEUE]: queue } }) },
});
const local = (name: string, clusterQueue = 'all'): ReadObject => ({
  metadata: { name, namespace: 'team' },
  spec: { clusterQueue },
});
const cluster = (check: string, flavour: string): ReadObject => ({
  metadata: { name: 'all' },
  spec: {
    admissionChecksStrategy: { admissionChecks: [{ name: check }] },
    resourceGroups: [{ flavors: [{ name: flavour }] }],
  },
});
const aCheck = (status: string, controllerName = CHECK): ReadObject => ({
  metadata: { name: 'nodes' },
  spec: { controllerName },
  status: { conditions: [{ type: 'Active', status }] },
});
const FLAVOURS: readonly ReadObject[] = [
  { metadata: { name: 'plain' }, spec: {} },
  { metadata: { name: 'tas' }, spec: { topologyName: 'racks' } },
];
const sound = (more: Partial<KueueObjects> = {}): KueueObjects => ({
  LocalQueue: [local('research')],
  ClusterQueue: [cluster('nodes', 'plain')],
  ResourceFlavor: FLAVOURS,
  AdmissionCheck: [aCheck('True')],
  ...more,
});
const LISTED = 'integrations:\n  externalFrameworks: [TrainingJob.v1alpha1.training.coxswain.dev]';
const withDefault = (kueueConfiguration?: string): KueueObjects =>
  sound({
    LocalQueue: [local('default'), local('research')],
    ...(kueueConfiguration === undefined ? {} : { kueueConfiguration }),
  });

describe('between Coxswain and Kueue', () => {
  it.each<[string, readonly ReadObject[], KueueObjects, readonly string[]]>([
    ['nothing is missing', [aJob('a', 'research')], sound(), []],
    ['nothing is said of a file without objects of Kueue', [aJob('a', 'research')], {}, []],
    [
      'nothing is said of a cluster without Kueue whose jobs name no queue',
      [aJob('a')],
      { LocalQueue: 'unserved' },
      [],
    ],
    [
      'Kueue is absent',
      [aJob('a', 'research')],
      { LocalQueue: 'unserved' },
      ['KueueAbsent: 1 unfinished job has label'],
    ],
    [
      'a queue does not exist',
      [aJob('a', 'resaerch')],
      sound(),
      ['QueueMissing: Job a of namespace team names LocalQueue resaerch'],
    ],
    [
      'a ClusterQueue does not ask for nodes',
      [aJob('a', 'research')],
      sound({ ClusterQueue: [cluster('other', 'plain')] }),
      ['CheckNotUsed: ClusterQueue all admits jobs before'],
    ],
    [
      'a ClusterQueue without jobs of ours may do so',
      [aJob('a')],
      sound({ ClusterQueue: [cluster('other', 'tas')] }),
      [],
    ],
    [
      'every flavour has a topology',
      [aJob('a', 'research')],
      sound({ ClusterQueue: [cluster('nodes', 'tas')] }),
      ['TopologyQueue: Every flavour of ClusterQueue all'],
    ],
    [
      'the check is not Active',
      [],
      sound({ AdmissionCheck: [aCheck('False')] }),
      ['CheckInactive: AdmissionCheck nodes'],
    ],
    ['the check of another controller may be so', [], sound({ AdmissionCheck: [aCheck('False', 'x/y')] }), []],
    ['a default queue with the kind listed and labelled jobs', [aJob('a', 'research')], withDefault(LISTED), []],
    ['a default queue, its configuration unknown', [aJob('a', 'research')], withDefault(), []],
    [
      'a default queue without the kind listed',
      [aJob('a', 'research')],
      withDefault('integrations: {}'),
      ['FrameworkNotListed: Kueue gates the pods of every job'],
    ],
    [
      'a default queue and a job without the label',
      [aJob('a')],
      withDefault(LISTED),
      ['QueueLabelMissing: Job a has no label kueue.x-k8s.io/queue-name'],
    ],
  ])('%s', (_sentence, jobs, objects, expected) => {
    const found = kueueFindings(jobs, objects).map(({ kind, message }) => `${kind}: ${message}`);
    expect(found.map((line, index) => line.slice(0, expected[index]?.length))).toEqual(expected);
  });
});
