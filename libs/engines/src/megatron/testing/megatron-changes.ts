import type { TrainingJobSpecInput } from '@coxswain/api-types';
import { renderEngine } from '../../render-engine.ts';
import { renderedChanges } from '../../testing/rendered-changes.ts';
import type { Change } from './capabilities.ts';
import { aDraft, specOf } from './job-draft.ts';

const nothing: Change = () => undefined;

/** What a change changes in the arguments of a job, or why the changed job is refused. The plain job has `before`, and the release of the other. */
export function changesOf(change: Change, before: Change = nothing): readonly string[] {
  const [plain, changed] = [aDraft(), aDraft()];
  before(plain);
  change(changed);
  if (changed.engine.release !== undefined) plain.engine.release = changed.engine.release;
  return renderedChanges(renderEngine(specOf(plain)), renderEngine(specOf(changed)));
}

/** Sets fields of a part of the job beside its layout. */
export function setting(
  part: 'model' | 'training' | 'data' | 'engine',
  values: Readonly<Record<string, unknown>>,
): Change {
  return (draft) => Object.assign(draft[part], values);
}

/** Sets whole parts of the job. */
export function beside(values: Partial<TrainingJobSpecInput>): Change {
  return ({ rest }) => Object.assign(rest, values);
}

/** Renders for that release instead of the newest. */
export function release(name: string): Change {
  return ({ engine }) => {
    engine.release = name;
  };
}
