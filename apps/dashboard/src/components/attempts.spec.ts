/** The rows of a job's attempts: how each ended or how far it is, and what it started from. */
import type { Attempt } from '@coxswain/api-types';
import { anAttempt } from '@coxswain/api-types/testing';
import { createElement } from 'react';
import { Attempts } from './attempts.tsx';
import { attributesOf, markupOf, textOf } from './testing/rendered.ts';

const table = (...attempts: readonly Partial<Attempt>[]) =>
  createElement(Attempts, { attempts: attempts.map((changes) => anAttempt(changes)) });

/** The text of each cell but the last, the time, row by row; below a row, its message. */
const rowsOf = (node: ReturnType<typeof table>): readonly (readonly string[])[] =>
  [...markupOf(node).matchAll(/<tr[^>]*>(<td.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<td[^>]*?(?:\/>|>(.*?)<\/td>)/gs)]
      .map(([, html = '']) => html)
      .filter((html) => !html.includes('<time'))
      .map((html) => textOf(createElement('p', { dangerouslySetInnerHTML: { __html: html } }))),
  );

const CHECKPOINT = { checkpoint: 'c', step: 12_000 };
const ended = (incarnation: number, changes: object = {}) => ({
  incarnation,
  endedAt: `2026-01-01T00:0${incarnation}:00Z`,
  reason: 'EngineFailed' as const,
  charged: true,
  ...changes,
});

const AT = '2026-01-01T00:01:00Z';

describe('an attempt of a job', () => {
  it('is none before the first', () => {
    expect(textOf(table())).toBe('Not started yet.');
  });

  it.each<[string, Partial<Attempt>, readonly string[]]>([
    ['is being placed', { stage: 'Creating' }, ['1', 'Being placed', 'from scratch', 'tp2 x dp2']],
    ['has pods, and no rank runs yet', { stage: 'Released' }, ['1', 'Starting', 'from scratch', 'tp2 x dp2']],
    ['is running', { stage: 'Released', runningAt: AT }, ['1', 'Running', 'from scratch', 'tp2 x dp2']],
    ['is stopping', { stage: 'Stopping' }, ['1', 'Stopping', 'from scratch', 'tp2 x dp2']],
    [
      'is in a stage of a newer server',
      { stage: 'Draining' as 'Ended' },
      ['1', 'Draining', 'from scratch', 'tp2 x dp2'],
    ],
    ['has ended, of which no more is known', { stage: 'Ended' }, ['1', 'Ended', 'from scratch', 'tp2 x dp2']],
    [
      'stops and has failed: its outcome comes before its stage',
      { stage: 'Stopping', outcome: 'Failed', reason: 'EngineFailed' },
      ['1', 'Failed EngineFailed', 'from scratch', 'tp2 x dp2'],
    ],
    ['is complete', { stage: 'Ended', outcome: 'Succeeded' }, ['1', 'Succeeded', 'from scratch', 'tp2 x dp2']],
    [
      'is suspended, with the reason',
      { stage: 'Ended', outcome: 'Suspended', resumedFrom: CHECKPOINT },
      ['1', 'Suspended', 'after step 12,000', 'tp2 x dp2'],
    ],
    [
      'runs on its own layout',
      {
        epoch: 7,
        runningAt: AT,
        layout: { tensorParallelDegree: 1, pipelineParallelDegree: 4, dataParallelDegree: 1 },
      },
      ['7', 'Running', 'from scratch', 'pp4'],
    ],
  ])('%s', (_sentence, changes, want) => {
    expect(rowsOf(table(changes))).toEqual([want]);
  });

  it('has the message of its end in a row below, as text', () => {
    const node = table({ outcome: 'Failed', message: 'Rank 1 on node a exited with code 1.\n<b>boom</b>' });
    expect(rowsOf(node)[1]?.filter((text) => text !== '')).toEqual([
      'Rank 1 on node a exited with code 1. <b>boom</b>',
    ]);
    expect(markupOf(node)).toContain('&lt;b&gt;boom');
  });

  it('has no row for a message that there is not', () => {
    expect(markupOf(table({ outcome: 'Failed' }))).not.toContain('class="message"');
  });

  it('stands above the earlier ones', () => {
    const node = table(
      { epoch: 1, outcome: 'Failed' },
      { epoch: 2, outcome: 'Suspended' },
      { epoch: 3, runningAt: AT },
    );
    expect(rowsOf(node).map(([name, words]) => `${name} ${words}`)).toEqual(['3 Running', '2 Suspended', '1 Failed']);
  });
});

describe('an attempt whose ranks restarted in their pods', () => {
  const restarted: Partial<Attempt> = {
    epoch: 2,
    runningAt: AT,
    incarnation: 3,
    resumedFrom: { checkpoint: 'c', step: 40 },
    incarnations: [
      ended(1, { message: 'Rank 3 was killed.' }),
      ended(2, { resumedFrom: { checkpoint: 'b', step: 20 } }),
    ],
  };

  it('has a row for each incarnation, newest first, with what each started from', () => {
    expect(rowsOf(table(restarted)).filter(([name]) => name !== '')).toEqual([
      ['2.3', 'Running', 'after step 40', 'tp2 x dp2'],
      ['2.2', 'Failed, restarted in its pods EngineFailed', 'after step 20', 'tp2 x dp2'],
      ['2.1', 'Failed, restarted in its pods EngineFailed', 'from scratch', 'tp2 x dp2'],
    ]);
  });

  it('has the message of an earlier incarnation below its row', () => {
    expect(rowsOf(table(restarted)).at(-1)).toEqual(['', 'Rank 3 was killed.']);
  });

  it('stands between the attempts around it', () => {
    const names = rowsOf(table({ epoch: 1 }, restarted, { epoch: 3 })).map(([name]) => name);
    expect(names.filter((name) => name !== '')).toEqual(['3', '2.3', '2.2', '2.1', '1']);
  });

  it('has the time at which each incarnation started: the first with its pods, others when the one before ended', () => {
    expect(attributesOf(table(restarted), 'dateTime')).toEqual([
      '2026-01-01T00:02:00Z',
      '2026-01-01T00:01:00Z',
      anAttempt().startedAt,
    ]);
  });

  it('has no time of an incarnation whose predecessor is not kept', () => {
    const node = table({ incarnation: 12, incarnations: [ended(11)] });
    expect(attributesOf(node, 'dateTime')).toEqual([ended(11).endedAt]);
    expect(rowsOf(node).at(-1)?.at(-1)).toBe('–');
  });
});
