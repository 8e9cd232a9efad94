/** Reads what Megatron-LM saves beside tensors: its arguments, the step, and how the optimizer is divided. */
import type { Holds, SavedFacts } from '../../read/saved-state.ts';
import { PickleDict, PickleObject, type PickleValue } from '../pickle/pickle-value.ts';

/** Degrees of a layout, and the argument of Megatron-LM that has each. */
const ARGUMENT_OF_DEGREE: Readonly<Record<string, string>> = {
  tensorParallelDegree: 'tensor_model_parallel_size',
  pipelineParallelDegree: 'pipeline_model_parallel_size',
  dataParallelDegree: 'data_parallel_size',
  contextParallelDegree: 'context_parallel_size',
  'expert.expertParallelDegree': 'expert_model_parallel_size',
};

/** What the state that all ranks share says. */
export type CommonFacts = Omit<SavedFacts, 'holds'> & { readonly hasScheduler: Holds };

/** `state`: the dict in `common.pt`. Releases since 0.17 save it as a list of one such dict. Anything else says nothing. */
export function readCommonState(state: PickleValue): CommonFacts {
  const [first] = Array.isArray(state) ? state : [state];
  const args = fieldOf(first, 'args');
  return {
    ...factsOfArguments(args),
    ...present('step', countOf(fieldOf(first, 'iteration'))),
    ...present('optimizerSharding', shardingOf(first, args)),
    hasScheduler: fieldOf(first, 'opt_param_scheduler') !== undefined,
  };
}

/** What the arguments of Megatron-LM, an `argparse.Namespace`, say. */
export function factsOfArguments(
  args: PickleValue | undefined,
): Pick<CommonFacts, 'worldSize' | 'degrees' | 'vocabulary'> {
  const degrees = Object.entries(ARGUMENT_OF_DEGREE).flatMap(([degree, argument]) =>
    degreeIn(degree, fieldOf(args, argument)),
  );
  // Megatron-LM has None in place of 1, and gives models without experts an expert degree as well.
  const chunks = fieldOf(args, 'virtual_pipeline_model_parallel_size');
  degrees.push(...degreeIn('pipeline.chunksPerRank', chunks === null ? 1 : chunks));
  if (countOf(fieldOf(args, 'num_experts')) !== undefined)
    degrees.push(...degreeIn('expert.expertTensorParallelDegree', fieldOf(args, 'expert_tensor_parallel_size')));
  return {
    ...present('worldSize', countOf(fieldOf(args, 'world_size'))),
    ...(degrees.length === 0 ? {} : { degrees: Object.fromEntries(degrees) }),
    ...present('vocabulary', vocabularyOf(args)),
  };
}

function degreeIn(name: string, value: PickleValue | undefined): readonly (readonly [string, number])[] {
  const degree = countOf(value);
  return degree === undefined || degree === 0 ? [] : [[name, degree]];
}

function vocabularyOf(args: PickleValue | undefined): SavedFacts['vocabulary'] {
  const rows = countOf(fieldOf(args, 'padded_vocab_size'));
  return rows === undefined
    ? undefined
    : {
        rows,
        ...present('words', countOf(fieldOf(args, 'vocab_size'))),
        ...present('multipleOf', countOf(fieldOf(args, 'make_vocab_size_divisible_by'))),
      };
}

/**
 * As the save's content metadata calls it; saves of older releases name it in the optimizer alone. An optimizer that data-parallel
 * ranks do not divide is stored tensor by tensor, which every layout loads.
 */
function shardingOf(state: PickleValue | undefined, args: PickleValue | undefined): string | undefined {
  const optimizer = fieldOf(state, 'optimizer');
  const named =
    textOf(fieldOf(fieldOf(state, 'content_metadata'), 'distrib_optim_sharding_type')) ??
    textOf(fieldOf(optimizer, 'param_state_sharding_type')) ??
    textOf(fieldOf(fieldOf(optimizer, 0), 'param_state_sharding_type'));
  return named ?? (fieldOf(args, 'use_distributed_optimizer') === false ? 'unsharded' : undefined);
}

/** A value of a dict, an attribute of an object, or an entry of a list. */
function fieldOf(value: PickleValue | undefined, name: string | number): PickleValue | undefined {
  const dict = value instanceof PickleObject ? value.state : value;
  if (!(dict instanceof PickleDict)) return Array.isArray(dict) && typeof name === 'number' ? dict[name] : undefined;
  if (typeof name === 'string') return dict.get(name);
  const at = dict.entries.findIndex((entry, index) => index % 2 === 0 && entry === name);
  return at < 0 ? undefined : dict.entries[at + 1];
}

function countOf(value: PickleValue | undefined): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

/** Longer text is no name. */
const MAX_NAME = 64;

function textOf(value: PickleValue | undefined): string | undefined {
  return typeof value === 'string' && value.length <= MAX_NAME ? value : undefined;
}

function present<Name extends string, Value>(name: Name, value: Value | undefined): { readonly [Key in Name]?: Value } {
  return (value === undefined ? {} : { [name]: value }) as { readonly [Key in Name]?: Value };
}
