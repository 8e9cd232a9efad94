import type { PriceList } from '@coxswain/api-types';
import { NamedPrices } from '@coxswain/job-planning';
import { z } from 'zod';
import { jsonOf } from './links-config.ts';

/** The price list of the administrator. */
export const PricesEnvironment = z.object({
  COXSWAIN_PRICES: jsonOf<PriceList>(NamedPrices).describe(
    'Prices of GPU-hours as JSON: {"currency": "USD", "perGpuHour": {"h100": 2.5, "default": 2}}. Unset: the API shows no costs.',
  ),
});
