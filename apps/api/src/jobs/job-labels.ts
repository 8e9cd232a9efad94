import { API_GROUP, MAX_LABELS } from '@coxswain/api-types';

/** The labels of a resource that a row repeats: those that are not ours, as many as a job may have, in the order of their keys. */
export function shownLabels(labels: Readonly<Record<string, string>> = {}): Record<string, string> {
  const entries = Object.entries(labels).filter(([key]) => !key.startsWith(`${API_GROUP}/`));
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)).slice(0, MAX_LABELS));
}

/** What a merge patch of the resource has to say for a change of its labels; undefined when it is so already. */
export function labelPatch(
  wanted: Readonly<Record<string, string | null>> | null,
  present: Readonly<Record<string, string>> = {},
): Readonly<Record<string, string | null>> | undefined {
  const missing = Object.entries(wanted ?? {}).filter(([key, value]) => (present[key] ?? null) !== value);
  return missing.length === 0 ? undefined : Object.fromEntries(missing);
}
