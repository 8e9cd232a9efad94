/** Formats numbers for tables and reports. */

/** Three significant digits and the unit that suits them: `843 ms`, `12.3 s`, `4.05 s`. */
export function formatSeconds(seconds: number): string {
  if (seconds === 0) return '0 s';
  const magnitude = Math.abs(seconds);
  if (magnitude < 1e-3) return `${digits(seconds * 1e6)} µs`;
  if (magnitude < 1) return `${digits(seconds * 1e3)} ms`;
  return `${digits(seconds)} s`;
}

/** `71.5 GiB`. */
export function formatGib(gib: number): string {
  return `${gib.toFixed(1)} GiB`;
}

/** `12,345,678`. */
export function formatCount(count: number): string {
  return Math.round(count).toLocaleString('en-US');
}

/** `15T tokens`, `300B tokens`, `1.2M tokens`. */
export function formatTokens(tokens: number): string {
  const [divisor, letter] = (
    [
      [1e12, 'T'],
      [1e9, 'B'],
      [1e6, 'M'],
    ] as const
  ).find(([least]) => tokens >= least) ?? [1, ''];
  return `${Number((tokens / divisor).toPrecision(3))}${letter} tokens`;
}

/** `3.4 %` of a share of 0.034. */
export function formatShare(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}

/** `$1,234`, `$1.23` or, for small sums, `$0.0123`. */
export function formatUsd(usd: number): string {
  if (usd < 1) return `$${Number(usd.toPrecision(3))}`;
  return usd < 100 ? `$${usd.toFixed(2)}` : `$${formatCount(usd)}`;
}

/** `17 h` or `12.4 days`. */
export function formatHours(hours: number): string {
  return hours < 48 ? `${digits(hours)} h` : `${digits(hours / 24)} days`;
}

function digits(value: number): string {
  const magnitude = Math.abs(value);
  return value.toFixed(magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : 2);
}
