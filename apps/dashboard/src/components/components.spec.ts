/** What components show of their data, rendered without a browser. */
import type { JobIncident, JobRendering, RankTraffic } from '@coxswain/api-types';
import { aJob, anIncident } from '@coxswain/api-types/testing';
import { createElement } from 'react';
import { Incidents } from './incidents.tsx';
import { PlacedTraffic } from './placed-traffic.tsx';
import { PredictionScatter } from './prediction-scatter.tsx';
import { ProgressBar } from './progress-bar.tsx';
import { Rendering } from './rendering.tsx';
import { StatePill } from './state-pill.tsx';
import { attributesOf, markupOf, textOf, textsOf } from './testing/rendered.ts';

describe('the state of a job', () => {
  it.each<[Parameters<typeof StatePill>[0]['state'], string]>([
    ['Submitting', 'idle'],
    ['Queued', 'idle'],
    ['Starting', 'busy'],
    ['Running', 'busy'],
    ['Restarting', 'held'],
    ['Suspending', 'held'],
    ['Suspended', 'held'],
    ['Stopping', 'held'],
    ['Complete', 'good'],
    ['Failed', 'bad'],
    ['Refused', 'bad'],
    ['Cancelled', 'idle'],
    ['Deleting', 'idle'],
    ['Deleted', 'idle'],
    // Of a newer server.
    ['Hibernating' as 'Deleted', 'idle'],
    ['toString' as 'Deleted', 'idle'],
  ])('%s is shown as %s', (state, tone) => {
    expect(markupOf(createElement(StatePill, { state }))).toBe(`<span class="pill ${tone}">${state}</span>`);
  });

  it('has a progress that screen readers name', () => {
    expect(markupOf(createElement(ProgressBar, { value: 3, total: 10, label: 'progress of tiny' }))).toBe(
      '<progress class="progress" value="3" max="10" aria-label="progress of tiny"></progress>',
    );
  });
});

describe('the incidents of a job', () => {
  const shown = (...incidents: readonly Partial<JobIncident>[]) =>
    createElement(Incidents, {
      incidents: incidents.map((changes) => ({
        ...anIncident({ rank: 1, node: 'gpu-a' }),
        jobId: 'j',
        job: 'tiny',
        project: null,
        ...changes,
      })),
    });

  it('are told in a sentence if there are none', () => {
    expect(textOf(shown())).toBe('No incidents so far.');
  });

  it.each<[string, Partial<JobIncident>, string]>([
    ['its subject', {}, 'Crash of rank 1 on node gpu-a'],
    ['its message', { message: 'Rank 1 exited with code 9.' }, 'Rank 1 exited with code 9.'],
    ['the action', { action: 'Moved' }, 'The gang saved and stopped, and continues on other nodes.'],
    ['that it is open', {}, 'It is not over.'],
    ['its outcome', { outcome: 'Recovered' }, 'The job trained again after the action, or finished.'],
    ['the lost time', { outcome: 'Passed', lostMs: 61_000 }, 'It went away by itself. 1 min 1 s were lost.'],
    [
      'the steps that were trained again',
      { outcome: 'Passed', lostMs: 61_000, redoneSteps: 7 },
      '1 min 1 s were lost, with 7 steps trained again.',
    ],
    ['its evidence', { evidence: [{ name: 'xid', value: '79' }] }, 'What shows it xid 79'],
    [
      'the last operations',
      { operations: [{ rank: 3, phase: 'training', step: 12, forMs: 5_000 }] },
      'Rank 3 waits in no group (training, after step 12), for 5.0 s.',
    ],
  ])('show %s', (_what, changes, words) => {
    expect(textOf(shown(changes))).toContain(words);
  });

  it.each<[string, Partial<JobIncident>, string]>([
    ['no loss of time before it is known', { outcome: 'Passed' }, 'were lost'],
    ['no outcome of an open one', { lostMs: 5 }, 'were lost'],
    ['no evidence if there is none', {}, 'What shows it'],
    ['no redone steps if there are none', { outcome: 'Passed', lostMs: 5, redoneSteps: 0 }, 'trained again.'],
  ])('show %s', (_what, changes, words) => {
    expect(textOf(shown({ ...changes, action: 'Advised' }))).not.toContain(words);
  });

  it('can be linked to, one by one', () => {
    expect(attributesOf(shown({ id: '1.1' }, { id: '2.1-slowRank-r3' }), 'id')).toEqual([
      'incident-1.1',
      'incident-2.1-slowRank-r3',
    ]);
  });

  it('show a message of a rank as text, never as markup', () => {
    expect(markupOf(shown({ message: '<script>alert(1)</script>' }))).toContain(
      '&lt;script&gt;alert(1)&lt;/script&gt;',
    );
  });
});

describe('what a placement sends', () => {
  const traffic: RankTraffic = {
    source: 'planned',
    gpu: 4_194_304,
    node: 1_048_576,
    nvlinkDomain: 0,
    leaf: 0,
    spine: 0,
    core: 0,
    island: 0,
  };
  const shown = (changes: Partial<RankTraffic> = {}) =>
    createElement(PlacedTraffic, { traffic: { ...traffic, ...changes } });

  it('is a row for each boundary that something crosses', () => {
    expect(textsOf(shown()).slice(-4)).toEqual(['between GPUs', '4.0 MiB', 'between nodes', '1.0 MiB']);
    expect(attributesOf(shown(), 'style')).toEqual(['width:100%', 'width:25%']);
  });

  it.each<[RankTraffic['source'], boolean]>([
    ['planned', false],
    ['assumed', true],
  ])('of source %s says that its model is assumed: %s', (source, isSaid) => {
    expect(textOf(shown({ source })).includes('compare the rows, not the bytes')).toBe(isSaid);
  });

  it('is nothing if ranks send each other nothing', () => {
    expect(markupOf(shown({ gpu: 0, node: 0 }))).toBe('');
  });
});

describe('what an engine runs', () => {
  const program: NonNullable<JobRendering['program']> = {
    release: 'v0.3.0',
    startedBy: 'launcher',
    argv: ['python3', '-m', 'train', '--tp', '2'],
    resumeArgs: [],
    env: [],
    files: [],
    ports: [],
    hostMemoryGibPerGpu: null,
    stepLines: null,
    checkpointFormat: null,
    notes: [],
  };
  const shown = (changes: Partial<typeof program> = {}, more: Partial<JobRendering> = {}) =>
    createElement(Rendering, {
      rendering: {
        engine: 'torchtitan',
        program: { ...program, ...changes },
        refusal: null,
        epoch: null,
        layout: null,
        ...more,
      },
    });

  it.each<[string, ReturnType<typeof shown>, string]>([
    ['with its release', shown(), 'torchtitan v0.3.0, each rank by the launcher as it would start'],
    ['without a release of its own', shown({ release: null }), 'torchtitan, each rank by the launcher'],
    ['by another starter', shown({ startedBy: 'torchrun' }), 'the ranks of each pod by torchrun'],
    ['in an attempt', shown({}, { epoch: 2 }), 'each rank by the launcher in attempt 2'],
    ['with notes', shown({ notes: ['bf16 is assumed'] }), 'bf16 is assumed'],
    ['as a command, a flag a line', shown(), 'python3 -m train --tp 2'],
  ])('is told %s', (_how, node, words) => {
    expect(textOf(node)).toContain(words);
  });

  it.each<[string, Partial<typeof program>, readonly string[]]>([
    ['the command alone', {}, ['command']],
    ['what is added from a checkpoint', { resumeArgs: ['--load'] }, ['command', 'from a checkpoint']],
    ['the environment', { env: [{ name: 'A', value: 'b' }] }, ['command', 'environment']],
    ['needs, of memory', { hostMemoryGibPerGpu: 64 }, ['command', 'needs']],
    ['needs, of a port', { ports: [{ name: 'rdzv', port: 29_500 }] }, ['command', 'needs']],
    ['files by their paths', { files: [{ path: 'a/b.toml', text: 'x\n' }] }, ['command', 'a/b.toml']],
  ])('has tabs for %s', (_what, changes, tabs) => {
    const names = [...markupOf(shown(changes)).matchAll(/<button[^>]*>([^<]*)</g)].map(([, name]) => name);
    expect(names).toEqual(tabs);
    expect(attributesOf(shown(changes), 'aria-selected')).toEqual(tabs.map((_, index) => String(index === 0)));
  });

  it('says why it cannot run, and what to do instead', () => {
    const refusal = { rule: 'noPipeline', field: 'layout.pipeline', why: 'It has no pipelines', fallback: 'give 1' };
    expect(textOf(shown({}, { program: null, refusal }))).toBe(
      'It has no pipelines. Instead: give 1. layout.pipeline, noPipeline',
    );
  });
});

describe('predictions against measurements', () => {
  const { layout } = aJob();
  const item = {
    jobId: 'j',
    project: null,
    name: 'tiny',
    engine: 'e',
    gpuType: 'h100',
    gpus: 4,
    epoch: 2,
    layout: layout ?? { tensorParallelDegree: 1, pipelineParallelDegree: 1, dataParallelDegree: 1 },
    microBatchSize: 1,
    predictedMs: 105,
    measuredMs: 100,
    measuredSteps: 10,
    errorPct: 5,
    plannerVersion: '1',
    startedAt: '2026-01-01T00:00:00Z',
  };

  it('are a point each, which names job, attempt and error', () => {
    const texts = textsOf(createElement(PredictionScatter, { items: [item, { ...item, epoch: 3, errorPct: -1.25 }] }));
    expect(texts).toEqual(expect.arrayContaining(['tiny, attempt 2: 5.0 %', 'tiny, attempt 3: -1.3 %']));
  });

  it('have axes that say which is which', () => {
    expect(textsOf(createElement(PredictionScatter, { items: [item] })).slice(-2)).toEqual([
      'measured →',
      '↑ predicted',
    ]);
  });
});
