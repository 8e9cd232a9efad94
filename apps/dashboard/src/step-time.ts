/** Three significant digits: `118 ms`, `1,240 ms`. */
export function formatMs(durationMs: number): string {
  return `${durationMs.toLocaleString('en', { maximumSignificantDigits: 3 })} ms`;
}

/** `+4.8 %`: an error with its sign. */
export function signedPercent(value: number): string {
  return `${value > 0 ? '+' : ''}${value.toFixed(1)} %`;
}

/** Tokens/s with four significant digits: `81,920`. */
export function formatSpeed(value: number): string {
  return value.toLocaleString('en', { maximumSignificantDigits: 4 });
}
