import type { TrainingJobSpec } from '@coxswain/api-types';
import { aJobSpec, aPlannedJobSpec } from '@coxswain/api-types/testing';
import { DomainError } from '@coxswain/domain-error';
import { aLayout } from '@coxswain/layout/testing';
import { requireLegalLayout, requireNoPlainSecrets, requirePlannable, requireRunnable } from './spec-rules.ts';

function refusalOf(act: () => void): DomainError {
  try {
    act();
  } catch (error) {
    if (error instanceof DomainError) return error;
  }
  throw new Error('nothing was refused');
}

describe('a spec', () => {
  it.each<[string, TrainingJobSpec]>([
    ['with a layout that divides', aJobSpec()],
    ['that leaves the layout to the planner', aPlannedJobSpec({ gpus: 8 })],
  ])('%s can be run', (_what, spec) => {
    expect(() => requireRunnable(spec, '/spec')).not.toThrow();
  });

  it.each<[string, TrainingJobSpec, string, readonly string[]]>([
    ['without data', { ...aJobSpec(), data: undefined }, 'INVALID_REQUEST', ['/spec/data']],
    [
      'without model and training',
      { ...aJobSpec(), model: undefined, training: undefined },
      'INVALID_REQUEST',
      ['/spec/model', '/spec/training'],
    ],
    [
      'whose layout does not divide',
      aJobSpec({ layout: { tensorParallelDegree: 3 } }),
      'INVALID_LAYOUT',
      ['/spec/layout/tensorParallelDegree'],
    ],
    [
      'whose model is not known',
      aJobSpec({ model: { preset: 'llama-9', sequenceLength: 128 } }),
      'INVALID_REQUEST',
      ['/spec/model/preset'],
    ],
    [
      'whose config.json is of an architecture that is not known',
      aJobSpec({ model: { huggingFace: { model_type: 'whisper' }, sequenceLength: 128 } }),
      'INVALID_REQUEST',
      ['/spec/model/huggingFace/model_type'],
    ],
    [
      'whose model its engine does not train',
      aJobSpec({ model: { layers: 4, hiddenSize: 128, attentionHeads: 4, keyValueHeads: 2, sequenceLength: 128 } }),
      'INVALID_REQUEST',
      ['/spec/model/keyValueHeads'],
    ],
  ])('%s is refused, and every field is named', (_what, spec, code, pointers) => {
    const refusal = refusalOf(() => requireRunnable(spec, '/spec'));
    expect(refusal.code).toBe(code);
    expect(refusal.violations.map(({ pointer }) => pointer)).toEqual(expect.arrayContaining([...pointers]));
  });

  it('that breaks several rules is told one in the sentence and how many more there are', () => {
    const refusal = refusalOf(() => requireRunnable({ ...aJobSpec(), data: undefined, model: undefined }, '/spec'));
    expect(refusal.message).toBe('engine "reference" needs model; add it; 1 more in errors');
  });
});

describe('a plain value that looks like a credential', () => {
  const value = `hf_${'aB3'.repeat(12)}`;
  const engine = { name: 'reference' as const, image: 'i', args: ['--token', value], env: [{ name: 'A', value }] };

  it('is refused by its place and kind, with what to do instead, and never repeated', () => {
    const refusal = refusalOf(() => requireNoPlainSecrets(aJobSpec({ engine }), '/spec'));
    expect(refusal.code).toBe('INVALID_REQUEST');
    expect(refusal.violations.map(({ pointer }) => pointer)).toEqual([
      '/spec/engine/env/0/value',
      '/spec/engine/args/1',
    ]);
    expect(refusal.message).toMatch(
      /^\/spec\/engine\/env\/0\/value: looks like a Hugging Face token;.*engine\.secretEnv.*; 1 more in errors$/,
    );
    expect(JSON.stringify([refusal.message, refusal.violations])).not.toContain(value);
  });

  it('is none where the job refers to a Secret', () => {
    const secretEnv = [{ name: 'HF_TOKEN', secret: 'job-hf', key: 'token' }];
    const spec = aJobSpec({ engine: { name: 'reference', image: 'i', secretEnv } });
    expect(() => requireNoPlainSecrets(spec, '/spec')).not.toThrow();
  });
});

describe('a layout', () => {
  it('is judged under the pointer at which it was sent', () => {
    const spec = { ...aJobSpec(), layout: aLayout({ tensorParallelDegree: 3 }) };
    const { violations } = refusalOf(() => requireLegalLayout(spec, '/layout'));
    expect(violations[0]?.pointer).toBe('/layout/tensorParallelDegree');
    expect(violations[0]?.detail).toMatch(/tensorParallelDegree 3 does not divide attentionHeads 4/);
  });
});

describe('a number of GPUs', () => {
  it('is enough for the planner when model and training are known', () => {
    expect(() => requirePlannable(aJobSpec(), '/gpus')).not.toThrow();
  });

  it.each(['model', 'training'] as const)('is not enough without %s', (part) => {
    const refusal = refusalOf(() => requirePlannable({ ...aJobSpec(), [part]: undefined }, '/gpus'));
    expect(refusal).toMatchObject({ code: 'INVALID_REQUEST', violations: [{ pointer: '/gpus' }] });
    expect(refusal.message).toMatch(/give a layout/);
  });
});
