import { CheckpointContents } from '@coxswain/api-types';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { contentsOf, kindOf } from './contents-of.ts';
import type { SavedFacts, SavedState, SavedTensor } from './read/saved-state.ts';
import { MemorySave } from './testing/memory-save.ts';
import { verifySave } from './verify/verify-save.ts';

const FIXTURE = join(import.meta.dirname, '../fixtures/dcp-2.15.0');

function of(state: SavedState | undefined): CheckpointContents | undefined {
  const contents = contentsOf({ state, findings: [], format: 'dcp', verdict: 'sound' }, createHash('sha256'));
  if (contents === undefined) return undefined;
  const { tensorGroups: _, ...rest } = CheckpointContents.parse(contents);
  return rest;
}

function aTensor(fields: Partial<SavedTensor> = {}): SavedTensor {
  const shape = fields.shape ?? [4, 2];
  return {
    key: 'model.weight',
    dtype: 'float32',
    shape,
    chunks: [{ offsets: shape.map(() => 0), sizes: shape, item: { file: 'f', offset: 0, length: 32 } }],
    ...fields,
  };
}

const tensors = (...some: readonly Partial<SavedTensor>[]): SavedState => ({ tensors: some.map(aTensor), objects: [] });
const NOTHING_KNOWN = { optimizer: undefined, randomStates: undefined, dataLoader: undefined, scheduler: undefined };
const withFacts = (facts: Partial<SavedFacts>): SavedState => ({
  ...tensors({}),
  facts: { holds: NOTHING_KNOWN, ...facts },
});

it('has its tensors in groups', () => {
  const state = tensors({ key: 'l.0.w' }, { key: 'l.1.w' });
  const look = { state, findings: [], format: 'dcp', verdict: 'sound' } as const;
  expect(contentsOf(look, createHash('sha256'))?.tensorGroups).toMatchObject([{ name: 'l.{0..1}.w', tensors: 2 }]);
});

it('counts what a save of PyTorch holds', () => {
  const files = readdirSync(FIXTURE).map((path) => [path, Uint8Array.from(readFileSync(join(FIXTURE, path)))]);
  const save = new MemorySave(Object.fromEntries(files) as Record<string, Uint8Array>);
  const look = save.run(verifySave(save.list(), { level: 'V1', crc32 }));
  expect(of(look.state)).toEqual({
    tensors: 6,
    chunks: 11,
    objects: 3,
    bytes: expect.any(Number) as number,
    dtypes: { float32: 3, bfloat16: 1, bool: 1, int32: 1 },
    kinds: { parameter: { tensors: 6, bytes: 72 * 4 + 21 * 4 + 16 * 2 + 3 + 6 * 4 + 4 } },
    holds: { optimizer: false },
    isResumable: false,
    format: 'dcp',
    geometry: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
  });
});

it('says nothing of a save whose metadata cannot be read', () => {
  expect(of(undefined)).toBeUndefined();
});

it.each<[what: string, state: SavedState, want: object]>([
  ['tensors of a model alone are weights', tensors({}), { holds: { optimizer: false }, isResumable: false }],
  [
    'tensors of an optimizer resume',
    tensors({ key: 'opt.exp_avg' }),
    { holds: { optimizer: true }, isResumable: true },
  ],
  [
    'files that are not read leave it open',
    { tensors: [], objects: [{ key: 'd/manifest.ocdbt', item: undefined }] },
    { holds: {}, isResumable: false },
  ],
])('%s', (_what, state, want) => {
  expect(of(state)).toMatchObject(want);
  expect(of(state)?.holds).toEqual((want as { holds: object }).holds);
});

it.each([
  ['model.layers.0.weight', 'parameter'],
  ['decoder.layers.mlp.linear_fc1.weight', 'parameter'],
  ['layers.optimal.weight', 'parameter'],
  ['lm_head.param_scale', 'parameter'],
  ['optimizer.exp_avg.model.weight', 'moment'],
  ['optimizer.state.tok_embeddings.weight.exp_avg_sq', 'moment'],
  ['optimizer.state.exp_avg.decoder.final_layernorm.weight', 'moment'],
  ['zero/model.weight/exp_avg', 'moment'],
  ['optimizer.state.w.momentum_buffer', 'moment'],
  ['optimizer.state.param.decoder.final_layernorm.weight', 'master'],
  ['optimizer.distributed.dp_group_idx_0.gbuf_idx_0.dtype_(a, b).bucket_idx_0.param', 'master'],
  ['zero/model.weight/fp32', 'master'],
  ['optimizer.state.w.step', 'other'],
  ['training.step', 'other'],
  ['rng_state/shard_0.0_1.1', 'other'],
] as const)('takes %s for a %s', (key, kind) => {
  expect(kindOf(aTensor({ key }))).toBe(kind);
});

it('believes the reader before the name', () => {
  expect(kindOf(aTensor({ key: 'exp_avg', kind: 'parameter' }))).toBe('parameter');
});

it.each<[sentence: string, state: SavedState, isResumable: boolean]>([
  ['weights alone do not resume', tensors({}), false],
  ['weights and moments resume', tensors({}, { key: 'optimizer.exp_avg.w' }), true],
  [
    'weights and the state of an optimizer without moments resume',
    { ...tensors({}), objects: [{ key: 'optimizer.param_groups.w.lr', item: undefined }] },
    true,
  ],
  [
    'what a reader says of the optimizer counts more than names',
    { ...tensors({ key: 'optimizer.exp_avg.w' }), facts: { holds: { ...NOTHING_KNOWN, optimizer: false } } },
    false,
  ],
])('%s', (_sentence, state, isResumable) => {
  expect(of(state)).toMatchObject({ isResumable, holds: { optimizer: isResumable } });
});

it.each<[what: string, isSame: boolean, other: SavedState]>([
  ['the order of tensors', true, tensors({ key: 'b' }, { key: 'a' })],
  ['another dtype', false, tensors({ key: 'a', dtype: 'bfloat16' }, { key: 'b' })],
  ['another name', false, tensors({ key: 'a' }, { key: 'c' })],
  [
    'another box',
    false,
    tensors({ key: 'a' }, { key: 'b', chunks: [{ offsets: [0, 0], sizes: [2, 2], item: undefined }] }),
  ],
  [
    'another place in the files',
    true,
    tensors({ key: 'a' }, { key: 'b', chunks: [{ offsets: [0, 0], sizes: [4, 2], item: undefined }] }),
  ],
])('of %s the geometry is the same: %s', (_what, isSame, other) => {
  expect(of(other)?.geometry === of(tensors({ key: 'a' }, { key: 'b' }))?.geometry).toBe(isSame);
});

it('compares boxes whatever their order', () => {
  const boxes = [0, 1, 2, 3].map((row) => ({ offsets: [row, 0], sizes: [1, 2], item: undefined }));
  expect(of(tensors({ chunks: boxes }))?.geometry).toBe(of(tensors({ chunks: boxes.toReversed() }))?.geometry);
});

describe('of hostile metadata', () => {
  it('sizes beyond any number stay countable', () => {
    expect(of(tensors({ shape: Array.from({ length: 64 }, () => 2 ** 50) }))?.bytes).toBe(Number.MAX_SAFE_INTEGER);
  });

  it('a thousand dtypes are few names', () => {
    const many = Array.from({ length: 1000 }, (_, index) => ({ key: `t${index}`, dtype: `d${index}` }));
    const { dtypes = {} } = of(tensors(...many)) ?? {};
    expect([Object.keys(dtypes).length, dtypes['other']]).toEqual([16, 985]);
  });

  it.each<[what: string, facts: Partial<SavedFacts>]>([
    ['a name that is no text', { engineRelease: 'a\u0000b' }],
    ['a long name', { optimizerSharding: 'z'.repeat(65) }],
    ['a step that is no count', { step: -1 }],
    ['ranks beyond numbers', { worldSize: 2 ** 60 }],
    ['degrees that are none', { degrees: { 'a b': 1, tensorParallelDegree: 0.5 } }],
  ])('%s is left out', (_what, facts) => {
    expect(of(withFacts(facts))).toEqual(of(tensors({})));
  });

  it('a thousand degrees are 16', () => {
    const degrees = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`d${index}`, index]));
    expect(Object.keys(of(withFacts({ degrees }))?.degrees ?? {})).toHaveLength(16);
  });
});

it('takes over what the reader says of the save', () => {
  const facts = {
    step: 7,
    engineRelease: 'deepspeed 0.18.1',
    optimizerSharding: 'zero1',
    worldSize: 4,
    degrees: { tensorParallelDegree: 2 },
  };
  const holds = { optimizer: true, randomStates: false, dataLoader: undefined, scheduler: true };
  expect(of(withFacts({ ...facts, holds }))).toMatchObject({
    ...facts,
    isResumable: true,
    holds: { optimizer: true, randomStates: false, scheduler: true },
  });
});
