import { NamedPrices } from './named-prices.ts';

function read(perGpuHour: Readonly<Record<string, number>>): ReturnType<typeof NamedPrices.safeParse> {
  return NamedPrices.safeParse({ currency: 'USD', perGpuHour });
}

it.each(['h100', 'H100', 'h100-sxm5-80gb'])('the price of %s is that of the name that plans have', (name) => {
  expect(read({ [name]: 2.5, default: 2 }).data?.perGpuHour).toEqual({ 'h100-sxm5-80gb': 2.5, default: 2 });
});

it('each name that the planner does not know is rejected with near ones, and a GPU with two prices', () => {
  expect(read({ h10: 1, abacus: 1, h100: 1, H100: 2 }).error?.issues.map(({ message }) => message)).toEqual([
    expect.stringMatching(/"h10" is not known; nearest: h100/),
    expect.stringMatching(/"abacus" is not known; nearest: /),
    'H100 is another name of a GPU that already has a price; leave one out',
  ]);
});
