/** Which environment variables configure libraries beside the engine? */
import { LABELS, POD_PATHS, type TrainingJob } from '@coxswain/api-types';

/**
 * Libraries that would ask a host outside, and retry for minutes where none answers, take what lies on disk instead. Sources: huggingface_hub, datasets and
 * transformers (environment variables), wandb (environment variables).
 */
export const OFFLINE: Readonly<Record<string, string>> = {
  HF_HUB_OFFLINE: '1',
  HF_DATASETS_OFFLINE: '1',
  TRANSFORMERS_OFFLINE: '1',
  WANDB_MODE: 'offline',
};

/**
 * Where curves go on over attempts. MLflow gives ids itself, and fails to resume one that it did not give: each of its runs carries job and epoch as tags
 * instead (`MLFLOW_RUN_CONTEXT`, mlflow/tracking/context/system_environment_context.py). TensorBoard reads all files of a directory as one run
 * (`TENSORBOARD_LOGGING_DIR`, as transformers 5 reads it). The id of W&B is each rank's own: the launcher sets it.
 */
export function trackersOf({ metadata, spec }: TrainingJob, epoch: number): Readonly<Record<string, string>> {
  const { checkpoint } = spec;
  const tags = { [LABELS.jobUid]: metadata.uid, [LABELS.jobName]: metadata.name, [LABELS.epoch]: String(epoch) };
  const saved = [POD_PATHS.checkpoints, checkpoint?.path ?? '', 'tensorboard', metadata.uid];
  return {
    MLFLOW_RUN_CONTEXT: JSON.stringify(tags),
    ...(checkpoint === undefined ? {} : { TENSORBOARD_LOGGING_DIR: saved.filter((part) => part !== '').join('/') }),
  };
}
