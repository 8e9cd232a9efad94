import { aModel } from '../testing/runs.ts';
import {
  activationSharesOf,
  mayCopy,
  mayShareInGroups,
  optimizerSharesOf,
  type StateSharing,
} from './shared-states.ts';

type Degrees = Parameters<typeof mayCopy>[1];

const degrees = (some: Partial<Degrees>): Degrees => ({ tensor: 1, context: 1, pipeline: 1, data: 8, ...some });

describe('a copy of all states on each rank', () => {
  const dense = aModel();
  const withExperts = aModel({
    experts: { count: 8, topK: 2, ffnHiddenSize: 64, sharedFfnHiddenSize: 0, denseLayers: 0, latentSize: 0 },
  });

  const titan = (model: ReturnType<typeof aModel>) => ({ model, sharing: 'torchtitan' as const });

  it.each<[string, Parameters<typeof mayCopy>[0], Partial<Degrees>, boolean]>([
    ['any engine may keep beside any degree', { model: withExperts }, { context: 2, tensor: 2 }, true],
    ['TorchTitan keeps where the batch alone is divided', titan(dense), {}, true],
    ['and not beside tensor parallelism', titan(dense), { tensor: 2 }, false],
    ['nor beside a pipeline', titan(dense), { pipeline: 2 }, false],
    ['nor over ranks of a context', titan(dense), { context: 2, data: 1 }, false],
    ['nor of experts', titan(withExperts), {}, false],
    ['but where there is one replica there is nothing to share', titan(dense), { tensor: 8, data: 1 }, true],
  ])('%s', (_, situation, some, want) => {
    expect(mayCopy(situation, degrees(some))).toBe(want);
  });
});

describe('groups of ranks that share states', () => {
  it.each<[string, StateSharing | undefined, readonly [number, number], boolean]>([
    ['are any with most engines', undefined, [4, 2], true],
    ['hold whole contexts with TorchTitan', 'torchtitan', [2, 4], true],
    ['so that half a context is none', 'torchtitan', [4, 2], false],
    ['are none with Trainer', 'hugging-face', [1, 4], false],
    ['nor with DeepSpeed, whose MiCS is gone', 'deepspeed', [1, 4], false],
  ])('%s', (_, sharing, [context, size], want) => {
    expect(mayShareInGroups(sharing === undefined ? {} : { sharing }, { context }, size)).toBe(want);
  });
});

describe('in host memory', () => {
  const on = (sharing: StateSharing | undefined) => (sharing === undefined ? {} : { sharing });

  it.each<[string, StateSharing | undefined, Parameters<typeof optimizerSharesOf>[1], readonly number[]]>([
    ['is no optimizer of copies', undefined, { zeroStage: 0, isAlone: false }, [0]],
    ['are none, half or all of a sharded one', undefined, { zeroStage: 1, isAlone: false }, [0, 0.5, 1]],
    ['is at least half of one that is sharded for this alone', undefined, { zeroStage: 1, isAlone: true }, [0.5, 1]],
    ['is all or nothing where DeepSpeed shards no weights', 'deepspeed', { zeroStage: 2, isAlone: false }, [0, 1]],
    ['is half of it where it does', 'deepspeed', { zeroStage: 3, isAlone: false }, [0, 0.5, 1]],
  ])('%s', (_, sharing, of, want) => {
    expect(optimizerSharesOf(on(sharing), of)).toEqual(want);
  });

  it('are no activations that DeepSpeed does not recompute from', () => {
    expect([activationSharesOf({}), activationSharesOf(on('deepspeed'))]).toEqual([[0, 1], [0]]);
  });
});
