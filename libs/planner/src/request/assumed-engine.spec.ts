import type { PlanRequestInput } from '../contract.ts';
import { plan } from '../questions/plan.ts';
import { assumedEngineOf, otherSchedulesOf, withAssumedEngine } from './assumed-engine.ts';
import { parsePlanRequest } from './parse-plan-request.ts';
import { resolveRequest } from './resolved-request.ts';

const REQUEST: PlanRequestInput = {
  model: 'llama-3.1-8b',
  cluster: { gpu: 'h100', gpus: 16 },
  globalBatchSize: 64,
  sequenceLength: 4096,
};

describe('a request without an engine', () => {
  it.each<[string, Partial<PlanRequestInput>, string | undefined]>([
    ['is planned for Megatron-LM', {}, 'megatron-lm'],
    ['that pins a schedule of Megatron-LM is too', { pinned: { schedule: 'interleaved-1f1b' } }, 'megatron-lm'],
    ['that pins another schedule may mean any engine', { pinned: { schedule: 'zbv' } }, undefined],
    ['that names one assumes none', { stack: 'torchtitan' }, undefined],
  ])('%s', (_sentence, changes, want) => {
    expect(assumedEngineOf(parsePlanRequest({ ...REQUEST, ...changes }))).toBe(want);
  });

  it('has the choices of that engine, and the others follow', () => {
    const asked = resolveRequest(parsePlanRequest(REQUEST));
    expect(withAssumedEngine(asked).allow.schedules).toEqual(['1f1b', 'interleaved-1f1b']);
    expect(otherSchedulesOf(asked)).toContain('zbv');
    expect(otherSchedulesOf(resolveRequest(parsePlanRequest({ ...REQUEST, stack: 'megatron-lm' })))).toEqual([]);
  });

  it.each<[string, PlanRequestInput]>([
    [
      '405B on 512 GPUs',
      { ...REQUEST, model: 'llama-3.1-405b', cluster: { gpu: 'h100', gpus: 512 }, globalBatchSize: 512 },
    ],
    ['70B on 64 GPUs', { ...REQUEST, model: 'llama-3.1-70b', cluster: { gpu: 'h100', gpus: 64 } }],
  ])('of %s has exotic schedules in the last plan at most', (_name, request) => {
    const { plans } = plan(parsePlanRequest(request));
    const exotic = plans.map(({ layout }) => /^(zb|v-|dualpipe)/.test(layout.pipeline?.schedule ?? ''));
    expect(exotic.slice(0, -1)).toEqual(exotic.slice(0, -1).map(() => false));
  });
});
