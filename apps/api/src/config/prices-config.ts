import { OTHER_GPUS, PriceList } from '@coxswain/api-types';
import { gpuOf } from '@coxswain/planner/presets';
import { z } from 'zod';
import { jsonOf } from './links-config.ts';

/** Plans have the full name of a GPU, such as h100-sxm5-80gb. A price under a name that no plan has would never be used: `default` would, without a word. */
const NamedPrices = PriceList.transform((list, context): PriceList => {
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

/** The price list of the administrator. */
export const PricesEnvironment = z.object({
  COXSWAIN_PRICES: jsonOf<PriceList>(NamedPrices).describe(
    'Prices of GPU-hours as JSON: {"currency": "USD", "perGpuHour": {"h100": 2.5, "default": 2}}. Unset: the API shows no costs.',
  ),
});
