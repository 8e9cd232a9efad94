/** Panels of a job and of the fabric: states of reading, failing and nothing, and what they show of their data. */
import {
  type Attempt,
  type Job,
  type JobGoodput,
  type RankMap as Ranks,
  RESTART_PHASES,
  type RestartPhase,
  type WhoAmI,
} from '@coxswain/api-types';
import { aJob, anAttempt, anIncident, aRankPlace } from '@coxswain/api-types/testing';
import { createElement } from 'react';
import { nodesOf, treeOf } from '../fabric/fabric-tree.ts';
import { aClusterFabric, aFabricPlace } from '../fabric/testing/a-cluster-fabric.ts';
import { JobFilter } from '../jobs/job-filter.tsx';
import { ALL_JOBS } from '../jobs/job-listing.ts';
import { ApplyFailureNote } from './apply-failure-note.tsx';
import { FabricHistory } from './fabric-history.tsx';
import { FabricMap } from './fabric-map.tsx';
import { FabricTable } from './fabric-table.tsx';
import { JobActions } from './job-actions.tsx';
import { LifePanel } from './life-panel.tsx';
import { RankMap } from './rank-map.tsx';
import { JobLinks } from './job-links.tsx';
import { LogsPanel } from './logs-panel.tsx';
import { StacksPanel } from './stacks-panel.tsx';
import { WhyNotTrainingNote } from './why-not-training-note.tsx';
import { attributesOf, markupOf, textOf, textsOf } from './testing/rendered.ts';
import { asSignedIn } from './testing/signed-in.ts';

const nothing = (): void => undefined;

describe('the buttons of a job', () => {
  const buttons = (role: WhoAmI['role'], state: Job['state'] = 'Running'): string => {
    const props = {
      job: aJob({ state, spec: { suspend: state === 'Suspended' } }),
      project: 'research',
      onChange: nothing,
    };
    return textOf(asSignedIn(createElement(JobActions, props), { me: { role } }));
  };
  it.each<[string, Parameters<typeof buttons>, string]>([
    ['suspend, cancel and delete a job that runs', ['submitter'], 'Suspend Cancel Delete Submit again'],
    [
      'resume a job that is suspended, also on another layout',
      ['operator', 'Suspended'],
      'Resume Cancel Delete Resume on… Submit again',
    ],
    ['are not for viewers', ['viewer'], ''],
    ['delete a job that is finished, and submit it again', ['admin', 'Complete'], 'Delete Submit again'],
  ])('%s', (_sentence, given, want) => {
    expect(buttons(...given)).toBe(want);
  });
});

describe('links of a job to other systems', () => {
  const jobLinks = [{ title: 'TensorBoard', template: 'https://tb.example.com/{project}/{uid}?a={attempt}' }];
  const links = (job: Parameters<typeof aJob>[0], me: Partial<WhoAmI>): readonly string[] =>
    attributesOf(asSignedIn(createElement(JobLinks, { job: aJob(job), project: 'vision' }), { me }), 'href');
  it.each<[string, ReturnType<typeof links>, readonly string[]]>([
    ['name the job', links({ uid: 'u-1', epoch: 3 }, { jobLinks }), ['https://tb.example.com/vision/u-1?a=3']],
    ['are none before it is in the cluster', links({ uid: null }, { jobLinks }), []],
    ['are none if none is configured', links({}, {}), []],
  ])('%s', (_sentence, found, want) => {
    expect(found).toEqual(want);
  });
});

describe('a change that has not reached the cluster', () => {
  const applyFailure = {
    message: 'The Kubernetes API server does not answer.',
    since: '2026-01-01T00:02:00Z',
    retryAt: '2026-01-01T00:05:12Z',
  };
  const note = (job: Partial<Omit<Job, 'spec'>>): string =>
    textOf(createElement(ApplyFailureNote, { job: aJob(job), now: new Date('2026-01-01T00:05:00Z') }));
  it.each<[string, Partial<Omit<Job, 'spec'>>, string]>([
    ['is told with its reason', { applyFailure }, 'does not answer. (for 3 min 0 s; tried again in 12.0 s)'],
    ['is told by its summary where the job is refused', { applyFailure, state: 'Refused' }, ''],
    ['is none', {}, ''],
  ])('%s', (_sentence, job, want) => {
    expect(note(job).slice(-want.length || 0)).toBe(want);
  });
});

describe('why a job does not train', () => {
  const whyNotTraining = {
    ...{ reason: 'ObjectMissing', condition: 'Placed', sentence: 'Claim corpse does not exist.' },
    ...{ change: 'Create corpse.', object: null },
  };
  const note = (job: Parameters<typeof aJob>[0]): string =>
    textOf(createElement(WhyNotTrainingNote, { job: aJob(job) }));
  it.each<[string, Parameters<typeof aJob>[0], string]>([
    [
      'has the change that helps below the summary that has the reason',
      { whyNotTraining, summary: whyNotTraining.sentence },
      'Create corpse.',
    ],
    [
      'has both where the summary has something else',
      { whyNotTraining },
      'Claim corpse does not exist. Create corpse.',
    ],
    ['is not shown where no change is needed', { whyNotTraining: { ...whyNotTraining, change: null } }, ''],
    ['is not shown of a job that trains', {}, ''],
  ])('%s', (_sentence, job, want) => {
    expect(note(job)).toBe(want);
  });
});

describe('the logs of a job', () => {
  const panel = (attempts: readonly Attempt[]): string =>
    textOf(asSignedIn(createElement(LogsPanel, { job: aJob({ attempts: [...attempts] }), project: 'research' })));

  it('can be read of each attempt', () => {
    expect(panel([anAttempt({ epoch: 1 }), anAttempt({ epoch: 2 })])).toMatch(/newest 1 2 .*follow Show Download$/);
  });

  it('have a link to the whole log if one is configured', () => {
    const props = { job: aJob({ attempts: [anAttempt({ epoch: 2 })] }), project: 'research' };
    const logLink = 'https://logs.example.com/{namespace}/{job}/{attempt}/{rank}';
    const page = asSignedIn(createElement(LogsPanel, props), { me: { logLink } });
    expect(attributesOf(page, 'href')).toEqual([`https://logs.example.com/${props.job.namespace}/tiny-gpt/2/0`]);
  });

  it('are not there before an attempt', () => {
    expect(panel([])).toBe('');
  });
});

describe('the stacks of a job', () => {
  const panel = (stage: Attempt['stage'] | undefined, isFinished = false): string => {
    const attempts = stage === undefined ? [] : [anAttempt({ stage })];
    const props = { job: aJob({ attempts }), project: 'research', isFinished };
    return textOf(asSignedIn(createElement(StacksPanel, props)));
  };
  it.each<[string, Parameters<typeof panel>, string]>([
    ['can be asked for while ranks run', ['Released'], 'Ask the ranks'],
    ['cannot before an attempt', [undefined], ''],
    ['cannot while pods are made', ['Creating'], ''],
    ['cannot while the gang stops', ['Stopping'], ''],
    ['cannot when the job is finished', ['Released', true], ''],
  ])('%s', (_sentence, given, want) => {
    expect(panel(...given).slice(-want.length || 0)).toBe(want);
  });
});

describe('the life of a job', () => {
  const goodput: JobGoodput = {
    asOf: '2026-01-01T00:01:40Z',
    gpuSeconds: 400,
    goodput: 0.75,
    shares: [
      { category: 'productive', gpuSeconds: 300, share: 0.75 },
      { category: 'slow', gpuSeconds: 0, share: 0 },
      { category: 'checkpointSave', gpuSeconds: 100, share: 0.25 },
    ],
    heldSeconds: 100,
    waitingSeconds: 20,
    suspendedSeconds: 0,
    spans: [
      { from: '2026-01-01T00:00:00Z', to: '2026-01-01T00:00:20Z', spent: 'waiting', gpus: 0, epoch: null },
      { from: '2026-01-01T00:00:20Z', to: '2026-01-01T00:01:40Z', spent: 'productive', gpus: 4, epoch: 1 },
    ],
    attemptsLeftOut: 0,
  };
  const recovery = {
    epoch: 2,
    incarnation: 1,
    failedAt: '2026-01-01T00:01:00Z',
    resumedFromStep: 80,
    lastStep: 97,
    phases: (Object.keys(RESTART_PHASES) as RestartPhase[]).map((phase, index) => ({
      phase,
      seconds: [5, null, 2, 0, 10, 20, null, 3.5, 20][index] ?? null,
    })),
    total: 60.5,
  };
  const incident = { ...anIncident({ noticedAt: '2026-01-01T00:00:50Z' }), jobId: 'j', job: 'a', project: null };
  const panel = (answer?: unknown, isFinished = false) => {
    const job = aJob();
    const key = ['life', 'research', job.id, isFinished];
    const page = createElement(LifePanel, { job, project: 'research', isFinished });
    return asSignedIn(page, { answers: answer === undefined ? [] : [[key, answer]] });
  };

  it.each<[string, ReturnType<typeof panel>, string]>([
    ['is being read', panel(), 'Goodput Reading… Incidents Reading…'],
    ['failed to be read', panel(new Error('No access.')), 'Goodput No access. Incidents No access.'],
    [
      'is one sentence first',
      panel({ goodput, incidents: [] }),
      'Goodput 75.0 % of 6 min 40 s of GPU time were productive steps; no incidents.',
    ],
    [
      'names what the job cost, where the administrator gave prices',
      panel({ goodput: { ...goodput, cost: { amount: 1234.5, currency: 'EUR' } }, incidents: [] }),
      'Cost so far: 1234.50 EUR, by the administrator’s price list.',
    ],
    [
      'has a legend of what took time',
      panel({ goodput, incidents: [] }),
      'productive 75.0 % 5 min 0 s of GPU time checkpoint save 25.0 % 1 min 40 s of GPU time waiting 20.0 s without GPUs',
    ],
    [
      'has a bar and a sentence for each restart, the newest first',
      panel({
        goodput: { ...goodput, recoveries: [recovery, { ...recovery, incarnation: 2, total: null }] },
        incidents: [],
      }),
      '2.2 no new step: detecting 5.0 s, reaping 2.0 s, placing 0 ms, starting 10.0 s, importing 20.0 s, loading 3.5 s, stepping 20.0 s; not reached or not known: deciding, meeting 2.1 1 min 0 s: detecting 5.0 s, reaping 2.0 s, placing 0 ms, starting 10.0 s, importing 20.0 s, loading 3.5 s, stepping 20.0 s; not known: deciding, meeting detecting reaping starting importing loading stepping',
    ],
    [
      'says how long each of the newest saves held the ranks up',
      panel({
        goodput: { ...goodput, saveStops: [{ epoch: 1, incarnation: 1, step: 90, seconds: 1.5 }] },
        incidents: [],
      }),
      'The newest saves stopped the ranks for: step 90 1.5 s.',
    ],
    [
      'says how long a save holds the ranks up',
      panel({ goodput: { ...goodput, secondsPerSave: 1.25 }, incidents: [] }),
      'On average, a save stops the ranks for 1.3 s.',
    ],
    ['is read for a finished job', panel({ goodput, incidents: [] }, true), 'No incidents so far.'],
    ['lists incidents', panel({ goodput, incidents: [incident] }), 'Incidents Crash'],
  ])('%s', (_sentence, node, words) => {
    expect(textOf(node)).toContain(words);
  });

  it('is a bar whose pieces lie where their time was', () => {
    expect(attributesOf(panel({ goodput, incidents: [incident] }), 'style')).toEqual([
      'left:0%;width:20%',
      'left:20%;width:80%',
      'left:50%',
    ]);
  });

  it('links a mark to its incident', () => {
    expect(attributesOf(panel({ goodput, incidents: [incident] }), 'href')).toEqual(['#incident-1.1']);
  });

  it('has no bar before time has passed', () => {
    const none = { ...goodput, goodput: null, gpuSeconds: 0, spans: [] };
    expect(markupOf(panel({ goodput: none, incidents: [] }))).not.toContain('life-bar');
    expect(textOf(panel({ goodput: none, incidents: [] }))).toContain('The job has held no GPUs yet; no incidents.');
  });
});

describe('the ranks of a job on nodes', () => {
  const map = (items: Ranks['items'], nodes: Ranks['nodes'] = []) =>
    createElement(RankMap, { ranks: { epoch: 2, items, nodes, bytesPerStep: null } });
  const gang = (changes: (rank: number) => Partial<Ranks['items'][number]> = () => ({})): Ranks['items'] =>
    [0, 1, 2, 3].map((rank) => aRankPlace({ rank, ...changes(rank) }));

  it.each<[string, Ranks['items'], string]>([
    ['are none before they are placed', [], 'No ranks are placed yet.'],
    ['are counted by node and domain', gang(), 'ib-0 InfiniBand · 4 ranks on 2 nodes in 1 NVLink domain'],
    [
      'are in no island if it is unknown',
      gang(() => ({ island: null, nicType: null })),
      'no island 4 ranks on 2 nodes',
    ],
    ['have NICs by their own name if it is new', gang(() => ({ nicType: 'slingshot' })), 'slingshot · 4 ranks'],
    ['have RoCE as people write it', gang(() => ({ nicType: 'roce' })), 'RoCE · 4 ranks'],
    [
      'are as fast as each other',
      gang(),
      'Attempt 2, 4 ranks. Median step time 100.0 ms. All ranks have about the same step time.',
    ],
    [
      'name the slowest',
      gang((rank) => ({ stepTimeMs: rank === 3 ? 150 : 100 })),
      'The slowest is rank 3 on node-1: 1.50 × the median.',
    ],
    [
      'do not name one that is 19 % slower',
      gang((rank) => ({ stepTimeMs: rank === 3 ? 119 : 100 })),
      'All ranks have about the same step time.',
    ],
    [
      'are not measured before a step',
      gang(() => ({ stepTimeMs: null, lastStep: null })),
      'Attempt 2, 4 ranks. Point at a rank to see its place.',
    ],
    ['have a legend of step times', gang(), 'from the median to twice as long; not measured yet.'],
  ])('%s', (_sentence, items, words) => {
    expect(textOf(map(items))).toContain(words);
  });

  it('can be colored by pipeline stage if there are several', () => {
    const staged = gang((rank) => ({ pipelineIndex: rank >> 1 }));
    expect(textOf(map(staged))).toContain('Step time Pipeline stage');
    expect(textOf(map(gang()))).not.toContain('Pipeline stage');
  });

  it('have a map for each island', () => {
    const two = gang((rank) => ({ island: rank < 2 ? 'ib-0' : 'ib-1' }));
    expect(attributesOf(map(two), 'aria-label')).toEqual([
      'ib-0: 2 ranks on 1 node in 1 NVLink domain. Arrow keys go from rank to rank.',
      'ib-1: 2 ranks on 1 node in 1 NVLink domain. Arrow keys go from rank to rank.',
    ]);
  });
});

describe('the fabric by leaf', () => {
  const leaves = (count: number, switches?: readonly string[]) =>
    treeOf(
      nodesOf(
        aClusterFabric(
          Object.fromEntries(
            Array.from({ length: count }, (_, leaf) => [
              `gpu-${leaf}`,
              switches === undefined
                ? aFabricPlace({ island: 'ib-0', spine: 1, leaf })
                : { island: 'ib-0', nvlinkDomain: null, switches: [...switches] },
            ]),
          ),
        ),
      ),
    );
  const table = (count: number, switches?: readonly string[]) =>
    createElement(FabricTable, { islands: leaves(count, switches), onChoose: nothing });

  it.each<[string, ReturnType<typeof table>, string]>([
    ['names leaf, island and spine', table(1), 'l0 ib-0 › s1 1 8 0 0'],
    ['has nodes below no known leaf', table(1, []), 'below no known leaf ib-0 1 8 0 0'],
    ['shows 200 rows at first', table(203), '3 more'],
  ])('%s', (_sentence, node, words) => {
    expect(textOf(node)).toContain(words);
  });

  it('has a row for each leaf, up to 200, and no button if that is all', () => {
    expect(markupOf(table(203)).match(/aria-expanded/g)).toHaveLength(200);
    expect(textOf(table(200))).not.toContain('more');
  });

  it('is a map too, which says what it shows and how to move', () => {
    const islands = leaves(3);
    const props = { islands, shownJob: undefined, shown: undefined, onShow: nothing, onChoose: nothing };
    const label = attributesOf(createElement(FabricMap, props), 'aria-label').at(-1);
    expect(label).toBe(
      '3 nodes of 1 island. Arrow keys go from node to node, plus and minus zoom; the table below has the same content.',
    );
    expect(textsOf(createElement(FabricMap, props)).slice(0, 3)).toEqual(['+', '−', 'Whole fabric']);
  });

  it('has a history that is read when it is asked for', () => {
    expect(textOf(asSignedIn(createElement(FabricHistory)))).toBe('History show when it changed');
  });
});

describe('the form above the list of jobs', () => {
  const form = createElement(JobFilter, { listing: ALL_JOBS, onChange: nothing });
  it.each<[string, string, readonly string[]]>([
    ['fields that the listing reads', 'name', ['search', 'labels', 'owner', 'state', 'orderBy']],
    ['names for screen readers', 'aria-label', ['Words of the name', 'Labels', 'Owner']],
    ['no longer texts than the API takes', 'maxLength', ['256', '1024', '256']],
    ['orders that the API knows', 'value', ['', 'createdAt', 'name', 'finishedAt']],
  ])('has %s', (_what, attribute, want) => {
    expect(attributesOf(form, attribute)).toEqual(want);
  });

  it.each<Job['state']>(['Queued', 'Running', 'Suspended', 'Complete', 'Failed', 'Cancelled'])(
    'offers state %s',
    (state) => {
      expect(markupOf(form)).toContain(`<option>${state}</option>`);
    },
  );
});
