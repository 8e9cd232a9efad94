/** What do the pods of a gang get, and how many ranks has each? */
import { GPU_RESOURCE, MAX_RANKS_PER_POD, type TrainingJobSpecInput } from '@coxswain/api-types';
import { quantityOf } from '@coxswain/units';
import { ImportError } from './import-error.ts';
import type { ImportReport } from './import-report.ts';
import { cpuShare, memoryShare } from './rank-share.ts';
import type { Source } from './source.ts';

const OTHER_DEVICES = /(?:gpu|gaudi|npu|tpu|neuron|mig-)/i;

/** GPUs of a pod; 0 where it asks for none. Throws an {@link ImportError} for devices that Coxswain's pods cannot ask for. */
export function gpusOfPod(resources: Source): number {
  for (const list of ['limits', 'requests']) {
    for (const [name, amount] of resources.at(list).entries()) {
      if (name !== GPU_RESOURCE && OTHER_DEVICES.test(name))
        throw new ImportError(
          `${amount.path} asks for ${name}; pods of a job ask for ${GPU_RESOURCE}. Write that, if such GPUs are there.`,
        );
    }
  }
  const asked = resources.at('limits', GPU_RESOURCE);
  const gpus = asked.isThere ? asked : resources.at('requests', GPU_RESOURCE);
  const text = gpus.textOrNumber() ?? '0';
  if (!/^\d{1,6}$/.test(text)) throw new ImportError(`${gpus.path} must be a whole number of GPUs.`);
  return Number(text);
}

/** The job's resources: what a pod had, divided among its ranks. */
export function resourcesOf(
  resources: Source,
  ranksPerPod: number,
  report: ImportReport,
): NonNullable<TrainingJobSpecInput['resources']> {
  if (ranksPerPod > MAX_RANKS_PER_POD)
    throw new ImportError(
      `${ranksPerPod} ranks in a pod are more than the ${MAX_RANKS_PER_POD} that a pod can have; ask for fewer GPUs in each pod, and for more pods.`,
    );
  const to = `resources.gpusPerNode ${ranksPerPod}`;
  for (const list of ['limits', 'requests']) {
    const asked = resources.at(list, GPU_RESOURCE);
    if (asked.textOrNumber() === String(ranksPerPod)) report.taken(asked, to);
    else report.changed(asked, to, { why: 'a pod has a GPU for each of its ranks, and no more' });
  }
  const cpu = shareOf(resources, { name: 'cpu', field: 'cpuPerGpu', share: cpuShare }, { ranksPerPod, report });
  const memory = shareOf(
    resources,
    { name: 'memory', field: 'memoryPerGpu', share: memoryShare },
    { ranksPerPod, report },
  );
  return {
    gpusPerNode: ranksPerPod,
    ...(cpu === undefined ? {} : { cpuPerGpu: cpu }),
    ...(memory === undefined ? {} : { memoryPerGpu: memory }),
  };
}

interface Kind {
  readonly name: string;
  readonly field: string;
  readonly share: (amount: number, ranks: number) => string | undefined;
}

function shareOf(
  resources: Source,
  { name, field, share }: Kind,
  { ranksPerPod, report }: { readonly ranksPerPod: number; readonly report: ImportReport },
): string | undefined {
  const [limit, request] = [resources.at('limits', name), resources.at('requests', name)];
  const chosen = limit.isThere ? limit : request;
  const text = chosen.textOrNumber();
  if (text === undefined) return undefined;
  const amount = quantityOf(text);
  const perGpu = amount === undefined ? undefined : share(amount, ranksPerPod);
  if (perGpu === undefined)
    throw new ImportError(`${chosen.path} is "${text}", and must be an amount such as 32 or 64Gi.`);
  const to = `resources.${field} ${perGpu}`;
  if (perGpu === text) report.taken(chosen, to);
  else
    report.changed(chosen, to, {
      why: ranksPerPod === 1 ? 'in other units' : `the share of each of ${ranksPerPod} ranks`,
    });
  if (chosen !== request)
    report.changed(request, to, { why: 'pods request as much as their limit, so that no other pod takes it' });
  return perGpu;
}
