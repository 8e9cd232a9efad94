import { waitFor } from '@coxswain/local-cluster';
import type { TestProject } from './project.ts';

/** Loss by step once `steps` steps with a loss are stored, which happens a moment after the job is done. */
export async function lossCurve(
  project: TestProject,
  { id, steps }: { readonly id: string; readonly steps: number },
): Promise<ReadonlyMap<number, number>> {
  const items = await waitFor(
    async () => {
      const stored = (await project.api.steps({ project: project.name, id })).items;
      return stored.filter(({ loss }) => loss !== null).length >= steps && stored;
    },
    { what: `${steps} steps to be stored` },
  );
  return new Map(items.flatMap(({ step, loss }) => (loss === null ? [] : [[step, loss] as const])));
}
