/** Which GPU does each name of a price list mean? */
import { OTHER_GPUS, PriceList } from '@coxswain/api-types';
import { gpuOf } from '@coxswain/planner/presets';

/**
 * A price list whose names are those that plans have, such as h100-sxm5-80gb. It may be written with shorter names that the planner knows. A name that
 * the planner does not know is rejected: no plan has it, so `default` would be used without a word.
 */
export const NamedPrices = PriceList.transform((list, context): PriceList => {
  const perGpuHour: Record<string, number> = {};
  for (const [name, price] of Object.entries(list.perGpuHour)) {
    const full = fullName(name);
    const problem = 'problem' in full ? full.problem : undefined;
    if ('name' in full && !(full.name in perGpuHour)) perGpuHour[full.name] = price;
    else
      context.addIssue({
        ...{ code: 'custom', path: ['perGpuHour', name] },
        message: problem ?? `${name} is another name of a GPU that already has a price; leave one out`,
      });
  }
  return { ...list, perGpuHour };
});

function fullName(name: string): { readonly name: string } | { readonly problem: string } {
  if (name === OTHER_GPUS) return { name };
  try {
    return { name: gpuOf(name).name };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}
