/** Negative when release `a` (such as 0.2.0 or 0.2.0-rc.1) came before `b`, positive when after, 0 when they are the same. Invalid names sort before all releases. */
export function compareReleases(a: string, b: string): number {
  const [left, right] = [partsOf(a), partsOf(b)];
  for (let i = 0; i < NUMBERS; i += 1) {
    const difference = (left.numbers[i] ?? -1) - (right.numbers[i] ?? -1);
    if (difference !== 0) return difference;
  }
  if (left.candidate === right.candidate) return 0;
  // 0.2.0-rc.1 came before 0.2.0.
  if (left.candidate === '' || right.candidate === '') return left.candidate === '' ? 1 : -1;
  return left.candidate.localeCompare(right.candidate, 'en', { numeric: true });
}

const NUMBERS = 3;

function partsOf(release: string): { readonly numbers: readonly number[]; readonly candidate: string } {
  const [, major, minor, patch, candidate = ''] =
    /^v?(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+.*)?$/.exec(release) ?? [];
  return { numbers: [major, minor, patch].flatMap((one) => (one === undefined ? [] : [Number(one)])), candidate };
}
