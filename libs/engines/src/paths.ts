/** Where the engine of a job finds files inside its container. */
import { POD_PATHS, type TrainingJobSpec } from '@coxswain/api-types';

/** The file or directory at `data.path`; undefined where the job names none. */
export function dataPathOf({ data }: Pick<TrainingJobSpec, 'data'>): string | undefined {
  return data?.path === undefined ? undefined : inside(POD_PATHS.data, data.path);
}

/** `path` below `directory`; an empty one is the directory. */
export function inside(directory: string, path: string): string {
  return path === '' ? directory : `${directory}/${path}`;
}
