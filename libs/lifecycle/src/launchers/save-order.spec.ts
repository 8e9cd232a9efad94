import type { Attempt, EarlySave } from '@coxswain/api-types';
import { aTrainingJob } from '@coxswain/api-types/testing';
import { aPlacement } from '../testing/index.ts';
import type { PlacedLauncher } from './launcher-orders.ts';
import { saveOrder } from './save-order.ts';

const { spec: placement } = aPlacement(aTrainingJob());
const asked: EarlySave = {
  request: 2,
  incarnation: 1,
  askedAt: '2026-01-01T00:20:00Z',
  afterStep: 40,
  why: 'A node is suspect.',
  suspicions: ['a'],
};
const anAttempt = (more: Partial<Attempt> = {}): Attempt => ({
  epoch: 1,
  stage: 'Released',
  placement: 'p',
  layout: placement.layout,
  startedAt: '2026-01-01T00:10:00Z',
  earlySave: asked,
  ...more,
});
const running: PlacedLauncher = { podIndex: 0, epoch: 1, incarnation: 1, state: 'running' };

describe('who is to have the ranks save', () => {
  it('is the launcher of rank 0 alone', () => {
    const launchers = new Map([
      ['pod-1', { ...running, podIndex: 1 }],
      ['pod-0', running],
    ]);
    const { epoch, incarnation } = running;
    const message = { kind: 'saveWanted', epoch, incarnation, request: 2, why: asked.why };
    expect(saveOrder({ attempt: anAttempt(), placement, launchers })).toEqual({ podUid: 'pod-0', message });
  });

  it.each<[string, Partial<Attempt>, Partial<PlacedLauncher>]>([
    ['where nothing was asked for', { earlySave: undefined } as object, {}],
    ['where a checkpoint came', { earlySave: { ...asked, outcome: 'Saved' } }, {}],
    ['where none came in time', { earlySave: { ...asked, outcome: 'NotSaved' } }, {}],
    ['where those ranks ended first', { earlySave: { ...asked, outcome: 'RanksEnded' } }, {}],
    ['where an earlier run of the ranks was asked', { incarnation: 2 }, { incarnation: 2 }],
    ['of a gang that stops', { stage: 'Stopping' }, {}],
    ['before its launcher runs those ranks', {}, { state: 'waiting', incarnation: 0 }],
    ['after they have ended', {}, { state: 'reaped' }],
    ['where its launcher is of another epoch', {}, { epoch: 2 }],
  ])('is nobody %s', (_when, attempt, reports) => {
    const launchers = new Map([['pod-0', { ...running, ...reports }]]);
    expect(saveOrder({ attempt: anAttempt(attempt), placement, launchers })).toBeUndefined();
  });
});
