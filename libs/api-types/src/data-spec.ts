/** What does a job train on, and from which weights does it begin? */
import { z } from 'zod';
import { cel } from './cel.ts';
import { ObjectName, RelativePath } from './field-names.ts';
import { POD_PATHS } from './names.ts';

const DATA_FORMATS = ['text', 'jsonl', 'indexed', 'hf', 'mock'] as const;
const WEIGHT_FORMATS = ['safetensors', 'dcp', 'torch_dist', 'torch'] as const;

const weight = z.number().positive().max(1_000_000);
const part = z.number().min(0).max(1_000_000);

const MOCK_READS_NOTHING = 'format mock reads nothing: give no claimName, path, paths or tokenizer';
const ONE_PLACE = 'data is in claimName, at path or at several paths: give claimName and one of the two';

const IS_PLACED = 'has(self.claimName) && (has(self.path) != has(self.paths))';

/** The training data of a job: files in a PersistentVolumeClaim, or random tokens (format `mock`). */
export const DataSpec = z
  .strictObject({
    claimName: ObjectName.optional().describe(
      `PersistentVolumeClaim in the namespace of the job; read at ${POD_PATHS.data}.`,
    ),
    path: RelativePath.optional().describe('File or directory inside the claim.'),
    paths: z
      .array(
        z
          .strictObject({
            path: RelativePath.describe('File, directory or prefix of files inside the claim.'),
            weight: weight.default(1).describe('Samples are drawn in proportion to it.'),
          })
          .meta({ id: 'WeightedPath' }),
      )
      .min(1)
      .max(64)
      .optional()
      .describe('Several paths instead of path, mixed by their weights.'),
    format: z
      .enum(DATA_FORMATS)
      .optional()
      .describe(
        'text: bytes as they are. jsonl: an object with a text in each line. indexed: tokens as Megatron-LM’s .bin and .idx. hf: a data set of Hugging Face, saved to disk. mock: random tokens. Absent: what the engine reads.',
      ),
    split: z
      .strictObject({
        train: part.describe('Share of the data for training.'),
        validation: part.default(0).describe('Share for validation.'),
        test: part.default(0).describe('Share for tests.'),
      })
      .meta({ id: 'DataSplit' })
      .optional()
      .describe('Proportions, such as 98, 2 and 0. Absent: all data is for training.'),
    tokenizer: z
      .strictObject({ path: RelativePath.describe('File or directory inside the claim of the data.') })
      .meta({ id: 'TokenizerSpec' })
      .optional()
      .describe('Tokenizer for data that is text. Absent: the choice of the engine.'),
  })
  .meta({
    id: 'DataSpec',
    ...cel(
      {
        rule: "!has(self.format) || self.format != 'mock' || !(has(self.claimName) || has(self.path) || has(self.paths) || has(self.tokenizer))",
        message: MOCK_READS_NOTHING,
        fieldPath: '.format',
      },
      {
        rule: `(has(self.format) && self.format == 'mock') || (${IS_PLACED})`,
        message: ONE_PLACE,
        fieldPath: '.path',
      },
    ),
  })
  .superRefine((data, context) => {
    const refuse = (field: string, message: string): void => {
      context.addIssue({ code: 'custom', path: [field], message });
    };
    const { format, claimName, path, paths, tokenizer } = data;
    if (format === 'mock') {
      if ([claimName, path, paths, tokenizer].some((given) => given !== undefined))
        refuse('format', MOCK_READS_NOTHING);
      return;
    }
    if (claimName === undefined) refuse('claimName', ONE_PLACE);
    if ((path === undefined) === (paths === undefined)) refuse('path', ONE_PLACE);
  });

/** Weights with which the first attempt of a job begins. */
export const InitialWeights = z
  .strictObject({
    claimName: ObjectName.describe(
      `PersistentVolumeClaim in the namespace of the job; read at ${POD_PATHS.initialWeights}.`,
    ),
    path: RelativePath.default('').describe('File or directory inside the claim.'),
    format: z
      .enum(WEIGHT_FORMATS)
      .describe(
        'safetensors: as Hugging Face publishes weights. dcp: PyTorch’s distributed checkpoint. torch_dist: Megatron-LM’s. torch: one file of torch.save.',
      ),
  })
  .meta({ id: 'InitialWeights' });
