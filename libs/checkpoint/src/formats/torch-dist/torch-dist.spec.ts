import { PickleDict, PickleGlobal, PickleObject, type PickleValue } from '../pickle/pickle-value.ts';
import { readCommonState } from './common-state.ts';
import { kindOfKey } from './megatron-keys.ts';
import { missingShards } from './sharded-objects.ts';

/** A Python dict. */
function dict(entries: Readonly<Record<string, PickleValue>>): PickleDict {
  const made = new PickleDict();
  made.entries = Object.entries(entries).flat();
  return made;
}

/** An `argparse.Namespace`. */
function namespace(fields: Readonly<Record<string, PickleValue>>): PickleObject {
  const made = new PickleObject(new PickleGlobal('argparse', 'Namespace'), []);
  made.state = dict(fields);
  return made;
}

const args = namespace({ tensor_model_parallel_size: 4, use_distributed_optimizer: false });

describe('the common state of Megatron-LM', () => {
  it.each<[what: string, want: object, state: PickleValue]>([
    ['is a dict in common.pt', { step: 7, degrees: { tensorParallelDegree: 4 } }, dict({ args, iteration: 7 })],
    ['is a list of one dict as an object of the save', { step: 7 }, [dict({ iteration: 7 })]],
    [
      'names how the optimizer is divided',
      { optimizerSharding: 'dp_reshardable' },
      dict({ content_metadata: dict({ distrib_optim_sharding_type: 'dp_reshardable' }), args }),
    ],
    [
      'of older releases names it in the optimizer',
      { optimizerSharding: 'fully_sharded_model_space' },
      dict({ optimizer: dict({ param_state_sharding_type: 'fully_sharded_model_space' }) }),
    ],
    ['without a distributed optimizer is not sharded', { optimizerSharding: 'unsharded' }, dict({ args })],
    [
      'has chunks of a virtual pipeline, which are None without one',
      { degrees: { 'pipeline.chunksPerRank': 1 } },
      dict({ args: namespace({ virtual_pipeline_model_parallel_size: null }) }),
    ],
    [
      'has the vocabulary and its padding',
      { vocabulary: { rows: 50_304, words: 50_257, multipleOf: 128 } },
      dict({ args: namespace({ padded_vocab_size: 50_304, vocab_size: 50_257, make_vocab_size_divisible_by: 128 }) }),
    ],
    ['that is something else says nothing', { hasScheduler: false }, 'os.system'],
    [
      'whose degrees are no counts says nothing of them',
      { hasScheduler: false },
      dict({ args: namespace({ world_size: -1 }) }),
    ],
  ])('%s', (_what, want, state) => {
    expect(readCommonState(state)).toMatchObject(want);
  });
});

describe('a grid of objects', () => {
  it.each<[what: string, want: string | undefined, names: readonly string[]]>([
    ['is complete if each position is there', undefined, ['a/shard_0.0_1.2', 'a/shard_0.1_1.2']],
    ['lacks the first position that is not there', 'a/shard_0.1_2.2', ['a/shard_0.0_2.2', 'a/shard_1.1_2.2']],
    ['of any size is searched no further than to its first hole', 'a/shard_1_999999999', ['a/shard_0_999999999']],
    ['of more dims than any tensor is none', undefined, [`a/shard_${'0.'.repeat(64)}0_${'2.'.repeat(64)}2`]],
    ['is none if its name has another form', undefined, ['a/shard_0', 'optimizer/shard_x_2']],
  ])('%s', (_what, want, names) => {
    expect(missingShards(names)[0]?.first).toBe(want);
  });
});

describe('a tensor of Megatron-LM', () => {
  it.each([
    ['decoder.layers.mlp.linear_fc1.weight', 'parameter'],
    ['optimizer.state.exp_avg.decoder.final_layernorm.weight', 'moment'],
    ['optimizer.state.fp32_param.decoder.final_layernorm.weight', 'master'],
    ['chained_1.optimizer.state.exp_avg_sq.decoder.layers.mlp.experts.linear_fc1.weight', 'moment'],
    [
      'optimizer.distributed.dp_group_idx_3.gbuf_idx_0.dtype_(torch.bfloat16, torch.float32).bucket_idx_0.param',
      'master',
    ],
    ['optimizer.state.module.decoder.layers.0.mlp.linear_fc1.weight.exp_avg', 'moment'],
    ['optimizer.state.step', 'other'],
  ])('%s is of kind %s', (key, kind) => {
    expect(kindOfKey(key)).toBe(kind);
  });
});
