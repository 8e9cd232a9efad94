import { DEFAULT_MICRO_BATCH_SIZE, type EffectiveSpec, stepsOf } from '@coxswain/api-types';
import { modelOfJob } from '../model-of-job.ts';
import { dataPathOf } from '../paths.ts';
import { literally, plainly, refused, type Rendering } from '../rendering.ts';
import { unsupportedOption } from './unsupported-option.ts';
import { referenceRefusal } from './reference-refusal.ts';
import { userEnvironment } from './user-environment.ts';

/** `reference`: the PyTorch GPT of this project (`engines/reference`). */
export function renderReference(spec: EffectiveSpec): Rendering {
  const { model, training, layout } = spec;
  const dataPath = dataPathOf(spec);
  const refusal = referenceRefusal(spec);
  if (refusal !== undefined) return refused(refusal);
  if (model === undefined || training === undefined || dataPath === undefined || spec.checkpoint === undefined)
    throw new Error('a part without which engine "reference" is refused is missing');
  const beyond = unsupportedOption('reference', layout);
  if (beyond !== undefined) return refused(beyond);
  const shape = modelOfJob(model)?.model;
  const flags: readonly (readonly [string, string | number | undefined])[] = [
    ['--layers', shape?.layers],
    ['--hidden-size', shape?.hiddenSize],
    ['--attention-heads', shape?.attentionHeads],
    ['--sequence-length', model.sequenceLength],
    ['--tensor-parallel', layout.tensorParallelDegree],
    ['--pipeline-parallel', layout.pipelineParallelDegree],
    ['--data-parallel', layout.dataParallelDegree],
    ['--global-batch-size', training.globalBatchSize],
    ['--micro-batch-size', training.microBatchSize ?? DEFAULT_MICRO_BATCH_SIZE],
    ['--steps', stepsOf(spec)],
    ['--learning-rate', training.learningRate],
    ['--min-learning-rate', training.minLearningRate],
    ['--warmup-steps', training.warmupSteps],
    ['--weight-decay', training.weightDecay],
    ['--beta1', training.optimizer?.beta1],
    ['--beta2', training.optimizer?.beta2],
    ['--epsilon', training.optimizer?.epsilon],
    ['--clip-norm', training.optimizer?.clipNorm],
    ['--schedule', training.schedule?.name],
    ['--decay-steps', training.schedule?.decaySteps],
    ['--seed', training.seed],
    ['--precision', training.precision],
    ['--data', dataPath],
    ['--save-every', spec.checkpoint.everySteps],
  ];
  const args = flags.flatMap(([flag, value]) => (value === undefined ? [] : [flag, String(value)]));
  const command = ['python3', '-m', 'coxswain_reference.train', ...args, ...(spec.engine.args ?? [])];
  return plainly(command.map(literally), userEnvironment(spec));
}
