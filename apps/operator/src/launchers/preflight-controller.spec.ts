import type { PreflightReport, TrainingJobStatus } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { aPlacement } from '@coxswain/lifecycle/testing';
import type { AddressedMessage } from '../ingest/ingest-messages.ts';
import type { NewestGang } from './launcher-controller.ts';
import { PreflightController } from './preflight-controller.ts';
import type { PodPreflightReport } from '../ingest/session-ports.ts';

const report = (torch: string, more: Partial<PreflightReport> = {}): PreflightReport => ({
  outcome: 'Done',
  facts: { torch },
  pairs: [],
  tookMs: 900,
  ...more,
});

function aPodReport(podIndex: number, podReport: PreflightReport, epoch = 1): PodPreflightReport {
  return { jobUid: 'job-1', epoch, podIndex, podUid: `pod-${podIndex}`, report: podReport };
}

interface Setup {
  readonly controller: PreflightController;
  readonly released: () => readonly string[];
  gang: NewestGang | 'gone' | undefined;
}

/** A gang of three on node-a, node-b and node-c. */
function aSetup(status: Partial<TrainingJobStatus> = {}): Setup {
  const messages: AddressedMessage[] = [];
  const job = aTrainingJob({ status: status as TrainingJobStatus });
  const { spec } = aPlacement(job, { ranks: ['0-1', '2-3', '4-5'] });
  const placement = { ...spec, nodes: ['node-a', 'node-b', 'node-c'] };
  const attempt = {
    epoch: 1,
    stage: 'Released',
    placement: 'p',
    layout: spec.layout,
    startedAt: '2026-01-01T00:10:00Z',
  } as const;
  const it: Setup = {
    controller: new PreflightController({ gangOf: () => it.gang, send: (message) => void messages.push(message) }),
    released: () => messages.splice(0).map(({ podUid, message }) => `${podUid} ${message.kind}`),
    gang: { job, attempt, placement, podUidOf: (podIndex) => `pod-${podIndex}` },
  };
  return it;
}

const all = ['pod-0 preflightDone', 'pod-1 preflightDone', 'pod-2 preflightDone'];

describe('the desk of preflights', () => {
  it('lets ranks start when every pod has told and nobody is named', () => {
    const { controller, released } = aSetup();
    expect(controller.receive([aPodReport(0, report('2.9')), aPodReport(1, report('2.9'))])).toEqual([]);
    expect(released()).toEqual([]);
    expect(controller.receive([aPodReport(2, report('2.9'))])).toEqual(['job-1']);
    expect(released()).toEqual(all);
    expect(controller.ofJob('job-1')).toMatchObject({ epoch: 1, outcome: 'Passed', fingerprint: { torch: '2.9' } });
  });

  it('looks at where ranks are once, and not with each pod that tells', () => {
    const it = aSetup();
    let rounds = 0;
    const { placement } = it.gang as NewestGang;
    const counted = {
      ...placement,
      get ranks() {
        rounds += 1;
        return placement.ranks;
      },
    };
    it.gang = { ...(it.gang as NewestGang), placement: counted };
    for (const podIndex of [0, 1]) it.controller.receive([aPodReport(podIndex, report('2.9'))]);
    expect(rounds).toBe(0);
    expect(it.controller.receive([aPodReport(2, report('2.9'))])).toEqual(['job-1']);
    expect(rounds).toBe(3);
  });

  it('keeps them waiting where somebody is named', () => {
    const { controller, released } = aSetup();
    expect(controller.receive([0, 1, 2].map((pod) => aPodReport(pod, report(pod === 1 ? '2.8' : '2.9'))))).toEqual([
      'job-1',
    ]);
    expect(released()).toEqual([]);
    expect(controller.ofJob('job-1')).toMatchObject({ outcome: 'NodesNamed', named: { nodes: ['node-b'] } });
  });

  it('lets them start as soon as one cannot look around', () => {
    const { controller, released } = aSetup();
    controller.receive([aPodReport(1, report('', { outcome: 'Skipped', note: 'no python3', facts: {} }))]);
    expect(released()).toEqual(all);
    expect(controller.ofJob('job-1')).toMatchObject({ outcome: 'Skipped', notes: ['pod 1: no python3'] });
  });

  it('answers whoever tells late, and nobody else again', () => {
    const { controller, released } = aSetup();
    controller.receive([aPodReport(1, report('', { outcome: 'Skipped', facts: {} }))]);
    released();
    controller.receive([aPodReport(2, report('2.9'))]);
    expect(released()).toEqual(['pod-2 preflightDone']);
  });

  it('says which image the runtime gave, where the job names none', () => {
    const it = aSetup();
    const template = { spec: { containers: [{ name: 'trainer', image: 'of/runtime:1' }] } };
    const runtime = { kind: 'ClusterTrainingRuntime' as const, name: 'a', uid: 'u', generation: 1, template };
    if (typeof it.gang === 'object') {
      const { image: _image, ...engine } = it.gang.job.spec.engine;
      const job = { ...it.gang.job, spec: { ...it.gang.job.spec, engine } };
      it.gang = { ...it.gang, job, placement: { ...it.gang.placement, runtime } };
    }
    it.controller.receive([0, 1, 2].map((pod) => aPodReport(pod, report('2.9'))));
    expect(it.controller.ofJob('job-1')?.fingerprint.image).toBe('of/runtime:1');
  });

  it('judges once: what ranks tell later changes nothing, and whoever asks again is told again', () => {
    const { controller, released } = aSetup();
    controller.receive([0, 1, 2].map((pod) => aPodReport(pod, report('2.9'))));
    released();
    expect(controller.receive([0, 1, 2].map((pod) => aPodReport(pod, report(pod === 0 ? '2.9' : '2.8'))))).toEqual([]);
    expect(released()).toEqual(all);
    expect(controller.ofJob('job-1')).toMatchObject({ outcome: 'Passed' });
  });

  it('names nobody who is avoided already', () => {
    const since = '2026-01-01T00:00:00Z';
    const { controller } = aSetup({ avoidedNodes: [{ node: 'node-b', reason: 'PreflightFailed', epoch: 0, since }] });
    controller.receive([0, 1, 2].map((pod) => aPodReport(pod, report(pod === 1 ? '2.8' : '2.9'))));
    expect(controller.ofJob('job-1')).toMatchObject({ outcome: 'Passed', named: { nodes: [] } });
  });

  it('says which image an attempt ran on, be it the runtime’s', () => {
    const it = aSetup();
    const template = { spec: { containers: [{ name: 'trainer', image: 'lab/trainer:1' }] } };
    const runtime = { kind: 'ClusterTrainingRuntime', name: 'lab', uid: 'u', generation: 1, template } as const;
    if (typeof it.gang === 'object') {
      const { job, placement } = it.gang;
      const { image: _, ...engine } = job.spec.engine;
      it.gang = { ...it.gang, job: { ...job, spec: { ...job.spec, engine } }, placement: { ...placement, runtime } };
    }
    it.controller.receive([0, 1, 2].map((pod) => aPodReport(pod, report('2.9'))));
    expect(it.controller.ofJob('job-1')?.fingerprint).toEqual({ image: 'lab/trainer:1', torch: '2.9' });
  });

  it('takes nothing of an earlier epoch, and nothing across epochs', () => {
    const it = aSetup();
    it.controller.receive([aPodReport(0, report('2.9')), aPodReport(1, report('2.9'))]);
    if (typeof it.gang === 'object') it.gang = { ...it.gang, attempt: { ...it.gang.attempt, epoch: 2 } };
    expect(it.controller.receive([aPodReport(2, report('2.9'), 2)])).toEqual([]);
    expect(it.controller.receive([aPodReport(0, report('2.9')), aPodReport(1, report('2.9'))])).toEqual([]);
    expect(it.controller.receive([aPodReport(0, report('2.9'), 2), aPodReport(1, report('2.9'), 2)])).toEqual([
      'job-1',
    ]);
  });

  it.each<[string, NewestGang | 'gone' | undefined]>([
    ['is gone', 'gone'],
    ['is not seen yet', undefined],
  ])('judges nothing of a job that %s', (_sentence, gang) => {
    const it = aSetup();
    it.gang = gang;
    expect(it.controller.receive([0, 1, 2].map((pod) => aPodReport(pod, report('2.9'))))).toEqual([]);
    expect(it.controller.ofJob('job-1')).toBeUndefined();
  });
});
