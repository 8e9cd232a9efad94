import { DisruptionNoticeRule } from '@coxswain/api-types';
import fc from 'fast-check';
import { comingNotice, dueNotice, type NodeNotice, noticesOfNode, windowNotices } from './node-notices.ts';
import { NOTICE_RULES } from './notice-rules.ts';

const NOW = new Date('2026-11-25T12:00:00Z');

interface Marks {
  readonly taints?: readonly object[];
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly conditions?: readonly object[];
  readonly unschedulable?: true;
}

const aNode = ({ taints, labels, annotations, conditions, unschedulable }: Marks): object => ({
  metadata: { name: 'gpu-1', labels, annotations },
  spec: { taints, unschedulable },
  status: { conditions },
});

const taint = (key: string, value?: string): Marks => ({ taints: [{ key, value, effect: 'NoSchedule' }] });
const unix = (text: string): string => String(Date.parse(text) / 1000);

/** Who says it; undefined: gangs stay. */
const CASES: readonly (readonly [string, Marks, string | undefined])[] = [
  ['nobody says anything', {}, undefined],
  ['a cordon alone says nothing', { unschedulable: true, ...taint('node.kubernetes.io/unschedulable') }, undefined],
  ['an administrator taints it', taint('health.coxswain.dev/maintenance'), 'maintenance'],
  [
    'an administrator annotates a cordoned node',
    { unschedulable: true, annotations: { 'health.coxswain.dev/maintenance': 'now' } },
    'maintenance',
  ],
  [
    'a window opens within a quarter of an hour',
    { annotations: { 'health.coxswain.dev/maintenance': '2026-11-25T12:15:00Z' } },
    'maintenance',
  ],
  [
    'the same as a taint, whose value takes no colon',
    taint('health.coxswain.dev/maintenance', '2026-11-25T12-15-00Z'),
    'maintenance',
  ],
  ['a window opens later', { annotations: { 'health.coxswain.dev/maintenance': '2026-11-25T12:15:01Z' } }, undefined],
  [
    'a window was opened yesterday and forgotten',
    { annotations: { 'health.coxswain.dev/maintenance': '2026-11-24T11:00:00Z' } },
    undefined,
  ],
  ['a time that is none says nothing', { annotations: { 'health.coxswain.dev/maintenance': '2026-99-99' } }, undefined],
  ['EC2 takes a spot instance back', taint('aws-node-termination-handler/spot-itn', '1732536000'), 'aws-spot'],
  ['EC2 only recommends another one', taint('aws-node-termination-handler/rebalance-recommendation'), undefined],
  ['Karpenter disrupts it, as before a capacity block ends', taint('karpenter.sh/disrupted'), 'karpenter'],
  ['an earlier Karpenter does', taint('karpenter.sh/disruption', 'disrupting'), 'karpenter'],
  ['a taint of that key with another value', taint('karpenter.sh/disruption', 'candidate'), undefined],
  ['Google ends its machine', taint('cloud.google.com/impending-node-termination'), 'gke-termination'],
  [
    'Google maintains its host in ten minutes',
    { labels: { 'cloud.google.com/scheduled-maintenance-time': unix('2026-11-25T12:10:00Z') } },
    'gke-maintenance',
  ],
  [
    'Google maintains its host next week',
    { labels: { 'cloud.google.com/scheduled-maintenance-time': unix('2026-12-02T12:00:00Z') } },
    undefined,
  ],
  ['Azure takes it back', taint('remediator.kubernetes.azure.com/unschedulable'), 'aks-drain'],
  ['the autoscaler deletes it', taint('ToBeDeletedByClusterAutoscaler', '1732536000'), 'cluster-autoscaler'],
  ['it is a candidate only', taint('DeletionCandidateOfClusterAutoscaler'), undefined],
  ['NVSentinel heard of it from the cloud', { conditions: [{ type: 'CSPMaintenance', status: 'True' }] }, 'nvsentinel'],
  ['NVSentinel says that there is none', { conditions: [{ type: 'CSPMaintenance', status: 'False' }] }, undefined],
  [
    'HyperPod is about to replace it',
    { labels: { 'sagemaker.amazonaws.com/node-health-status': 'UnschedulablePendingReplacement' } },
    'hyperpod',
  ],
  ['HyperPod finds it well', { labels: { 'sagemaker.amazonaws.com/node-health-status': 'Schedulable' } }, undefined],
];

describe('who says that a node is about to go away', () => {
  it.each(CASES)('%s', (_title, marks, rule) => {
    expect(dueNotice(noticesOfNode(aNode(marks), NOTICE_RULES), NOW)?.rule).toBe(rule);
  });

  it('is what an administrator adds, too', () => {
    const rules = [DisruptionNoticeRule.parse({ name: 'ours', condition: 'Doomed', values: ['PowerOff'] })];
    const node = (reason: string): object => aNode({ conditions: [{ type: 'Doomed', status: 'True', reason }] });
    expect(noticesOfNode(node('PowerOff'), rules)).toEqual([{ rule: 'ours', mark: 'condition Doomed' }]);
    expect(noticesOfNode(node('Tired'), rules)).toEqual([]);
  });

  it.each<[string, Marks, boolean]>([
    ['the annotation of Coxswain', { annotations: { 'health.coxswain.dev/maintenance': 'now' } }, true],
    ['the taint of Coxswain', taint('health.coxswain.dev/maintenance'), true],
    ['the mark of a cloud', taint('aws-node-termination-handler/spot-itn'), false],
  ])('is a request by an administrator: %s', (_what, marks, isRequested) => {
    const notice = dueNotice(noticesOfNode(aNode(marks), NOTICE_RULES), NOW);
    expect(notice?.isRequested ?? false).toBe(isRequested);
  });

  it.each([
    ['no mark', { name: 'a' }],
    ['two marks', { name: 'a', taint: 'x', label: 'y' }],
    ['a name with spaces', { name: 'a b', taint: 'x' }],
    ['a field that is none', { name: 'a', taint: 'x', value: 'y' }],
  ])('refuses a rule with %s', (_title, rule) => {
    expect(DisruptionNoticeRule.safeParse(rule).success).toBe(false);
  });

  it('is heard behind any number of notices that ask for nothing now', () => {
    const past = Array.from({ length: 6 }, (_, at) => `example.com/window-${at}`);
    const rules = [...past, 'example.com/due'].map((annotation, at) =>
      DisruptionNoticeRule.parse({ name: `rule-${at}`, annotation, begins: 'AtTimestamp' }),
    );
    const annotations = Object.fromEntries(past.map((key) => [key, '2026-11-01T00:00:00Z']));
    const node = aNode({ annotations: { ...annotations, 'example.com/due': '2026-11-25T12:10:00Z' } });
    expect(dueNotice(noticesOfNode(node, rules), NOW)?.rule).toBe('rule-6');
  });

  it('is told of whatever the API server holds, boundedly', () => {
    fc.assert(
      fc.property(fc.anything(), (node) => {
        expect(noticesOfNode(node, NOTICE_RULES).length).toBeLessThanOrEqual(4);
      }),
    );
  });

  it('has rules that the schema takes', () => {
    for (const { source, ...rule } of NOTICE_RULES) {
      expect(DisruptionNoticeRule.parse(rule)).toEqual(rule);
      expect(source).not.toBe('');
    }
  });
});

describe('a notice that is not due', () => {
  const MINUTE_MS = 60_000;
  const inMinutes = (minutes: number): NodeNotice => ({
    rule: `in ${minutes}`,
    mark: 'annotation m',
    beginsAtMs: NOW.getTime() + minutes * MINUTE_MS,
  });

  it.each<[string, readonly NodeNotice[], string | undefined]>([
    ['is coming within the hour', [inMinutes(40)], 'in 40'],
    ['is the first of several', [inMinutes(50), inMinutes(20)], 'in 20'],
    ['is none when gangs leave for it already', [inMinutes(15)], undefined],
    ['is none where it is further away', [inMinutes(61)], undefined],
    ['is none where it is past', [inMinutes(-5)], undefined],
    ['is none where it says no time: it is due', [{ rule: 'now', mark: 'taint t' }], undefined],
  ])('%s', (_sentence, notices, want) => {
    expect(comingNotice(notices, { now: NOW, withinMs: 60 * MINUTE_MS })?.rule).toBe(want);
  });
});

describe('a window of the Fabric asks gangs to leave', () => {
  const MINUTE_MS = 60_000;
  const window = (inMinutes: number, namespace?: string): Parameters<typeof windowNotices>[0] => [
    {
      name: 'firmware',
      fromMs: NOW.getTime() + inMinutes * MINUTE_MS,
      untilMs: NOW.getTime() + (inMinutes + 60) * MINUTE_MS,
      heldFromMs: 0,
      ...(namespace === undefined ? {} : { namespace }),
    },
  ];
  it.each<[string, number, string | undefined, string | undefined]>([
    ['a quarter of an hour before it', 15, undefined, 'maintenance-window'],
    ['not earlier', 16, undefined, undefined],
    ['while it is open', -59, undefined, 'maintenance-window'],
    ['not after it', -60, undefined, undefined],
    ['of other projects than its own', 5, 'team-a', 'project-window'],
    ['but not of its own', 5, 'team-b', undefined],
  ])('%s', (_sentence, inMinutes, owner, want) => {
    const notice = dueNotice(windowNotices(window(inMinutes, owner), 'team-b'), NOW);
    expect([notice?.rule, notice?.isRequested ?? false]).toEqual([want, want !== undefined]);
  });

  it('announces itself an hour ahead, so that gangs save', () => {
    const notices = windowNotices(window(50), 'team-b');
    expect(comingNotice(notices, { now: NOW, withinMs: 60 * MINUTE_MS })?.mark).toBe('firmware of Fabric cluster');
  });
});
