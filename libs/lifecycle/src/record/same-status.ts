import type { TrainingJobStatus } from '@coxswain/api-types';

/**
 * Whether two statuses are equal as JSON: the order of keys and undefined keys do not count. Every reconciliation asks, so it allocates
 * nothing.
 */
export function sameStatus(left: TrainingJobStatus | undefined, right: TrainingJobStatus | undefined): boolean {
  return isSame(left, right);
}

function isSame(one: unknown, other: unknown): boolean {
  const [left, right] = [inJson(one), inJson(other)];
  if (left === right) return true;
  if (typeof left !== 'object' || typeof right !== 'object' || left === null || right === null) return false;
  if (Array.isArray(left) || Array.isArray(right)) {
    if (!Array.isArray(left) || !Array.isArray(right) || left.length !== right.length) return false;
    return left.every((part, index) => isSame(part, right[index]));
  }
  return hasSameFields(left, right);
}

function hasSameFields(left: object, right: object): boolean {
  for (const key of Object.keys(left)) if (!isSame(fieldOf(left, key), fieldOf(right, key))) return false;
  for (const key of Object.keys(right)) {
    if (fieldOf(left, key) === undefined && fieldOf(right, key) !== undefined) return false;
  }
  return true;
}

/** JSON has neither NaN nor infinite numbers. */
function inJson(value: unknown): unknown {
  return typeof value === 'number' && !Number.isFinite(value) ? null : value;
}

/** Inherited properties are not fields. */
function fieldOf(object: object, key: string): unknown {
  return Object.hasOwn(object, key) ? Reflect.get(object, key) : undefined;
}
