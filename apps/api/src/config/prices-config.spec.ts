import { PricesEnvironment } from './prices-config.ts';

function read(perGpuHour: Readonly<Record<string, number>>) {
  return PricesEnvironment.safeParse({ COXSWAIN_PRICES: JSON.stringify({ currency: 'USD', perGpuHour }) });
}

it.each(['h100', 'H100', 'h100-sxm5-80gb'])('the price of %s is that of the name that plans have', (name) => {
  expect(read({ [name]: 2.5, default: 2 }).data?.COXSWAIN_PRICES?.perGpuHour).toEqual({
    'h100-sxm5-80gb': 2.5,
    default: 2,
  });
});
