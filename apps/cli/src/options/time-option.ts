import { DAY_MS, HOUR_MS, MINUTE_MS } from '@coxswain/units';
import { InvalidArgumentError } from 'commander';

const UNITS_MS: Readonly<Record<string, number>> = { m: MINUTE_MS, h: HOUR_MS, d: DAY_MS };
/** JavaScript would take a mere 5 for May 2001. */
const DATE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}/;
const AGO = /^([0-9]{1,6})([mhd])$/;

/** Validates a time option and returns it unchanged. Commander prints the option's name before the message. */
export function time(text: string): string {
  if (AGO.test(text) || (DATE.test(text) && !Number.isNaN(Date.parse(text)))) return text;
  throw new InvalidArgumentError(
    `"${text}" is not a time; write 2030-01-31T00:00:00Z, or 30m, 24h or 7d for a time ago.`,
  );
}

/** The time of an option as an ISO time in UTC. */
export function instant(text: string, now: Date): string;
export function instant(text: string | undefined, now: Date): string | undefined;
export function instant(text: string | undefined, now: Date): string | undefined {
  if (text === undefined) return undefined;
  const [, count = '', unit = ''] = AGO.exec(text) ?? [];
  return count === ''
    ? new Date(text).toISOString()
    : new Date(now.getTime() - Number(count) * (UNITS_MS[unit] ?? 0)).toISOString();
}
