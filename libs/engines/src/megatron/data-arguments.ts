/** Renders the training data for Megatron-LM. */
import { POD_PATHS } from '@coxswain/api-types';
import { inside } from '../paths.ts';
import { type MegatronJob, byDefault, flag, kept, refuse, type RenderedField } from './rendered-field.ts';

type Data = NonNullable<MegatronJob['spec']['data']>;

/** Arguments for the fields of `data`. */
export function dataArguments(job: MegatronJob): readonly RenderedField[] {
  const { data } = job.spec;
  if (data === undefined) return [];
  return [...sourceArguments(data), ...splitArguments(data.split), ...tokenizerArguments(job, data)];
}

/** Prefixes of .bin and .idx, each behind its weight where there are several (megatron/training/utils, get_blend_from_list). */
function sourceArguments({ format = 'indexed', path, paths }: Data): readonly RenderedField[] {
  if (format === 'mock') return flag('data.format', '--mock-data');
  if (format !== 'indexed')
    return refuse(
      'data-is-indexed',
      'data.format',
      `Megatron-LM reads tokens that are indexed, or makes them up, and not ${format}`,
      'make .bin and .idx by its tools/preprocess_data.py and set data.format to indexed',
    );
  const parts = paths?.flatMap(({ path: part, weight }) => [String(weight), prefix(part)]) ?? [prefix(path ?? '')];
  return [
    ...flag(paths === undefined ? 'data.path' : 'data.paths', '--data-path', ...parts),
    ...kept('data.format', 'data.claimName'),
  ];
}

/** The name of one of the two files stands for both. */
function prefix(path: string): string {
  return inside(POD_PATHS.data, path.replace(/\.(bin|idx)$/, ''));
}

/** Of Megatron-LM itself a tenth and more would be kept back (969, 30, 1), and without data for it no validation can be run. */
function splitArguments(split: Data['split']): readonly RenderedField[] {
  const { train, validation, test } = split ?? { train: 1, validation: 0, test: 0 };
  return [
    ...flag('data.split', '--split', `${train},${validation},${test}`),
    ...(validation === 0 ? byDefault('--eval-iters', 0) : []),
  ];
}

function tokenizerArguments({ shape, release }: MegatronJob, { tokenizer }: Data): readonly RenderedField[] {
  const field = 'data.tokenizer';
  if (tokenizer !== undefined)
    return [
      ...flag(field, '--tokenizer-type', 'HuggingFaceTokenizer'),
      ...flag(`${field}.path`, '--tokenizer-model', inside(POD_PATHS.data, tokenizer.path)),
    ];
  if (shape === undefined) return [];
  // Tokens are numbers already. Until core_v0.17 the null tokenizer adds one for the end of a document (null_tokenizer.py).
  const size = release.minor < 18 ? shape.vocabularySize - 1 : shape.vocabularySize;
  return [...byDefault('--tokenizer-type', 'NullTokenizer'), ...flag('model.vocabularySize', '--vocab-size', size)];
}
