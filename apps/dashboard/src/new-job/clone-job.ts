/** A new job from one that exists: "Submit again". */
import { type Job, TrainingJobSpec } from '@coxswain/api-types';

/** A spec field by name. Each is about the run of the old job, so a new job begins without it. */
const OF_THE_RUN = ['suspend', 'cancel', 'resumeFrom'] as const;
const MAX_NAME = 63;

/** The request for the same job under another name. Values that a spec has anyway are left out, so that the rest can be read. */
export function cloneRequest(
  job: Pick<Job, 'name' | 'namespace' | 'labels' | 'spec'>,
): Readonly<Record<string, unknown>> {
  const { name, namespace, labels, spec } = job;
  return {
    name: nextName(name),
    namespace,
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    spec: withoutDefaults(Object.fromEntries(Object.entries(spec).filter(([key]) => !isOfTheRun(key)))),
  };
}

function isOfTheRun(key: string): boolean {
  return OF_THE_RUN.some((field) => field === key);
}

/** `llama` → `llama-2` → `llama-3`, within the length of a name. */
export function nextName(name: string): string {
  const [, base = name, number] = /^(.+)-([1-9]\d{0,3})$/.exec(name) ?? [];
  const ending = `-${number === undefined ? 2 : Number(number) + 1}`;
  return `${base.slice(0, MAX_NAME - ending.length).replace(/-+$/, '')}${ending}`;
}

type Fields = Record<string, unknown>;

/** The spec without each field whose absence means the same. A spec that this release does not read stays as it is. */
function withoutDefaults(spec: Fields): Fields {
  const meaning = meaningOf(spec);
  if (meaning === undefined) return spec;
  const lean = structuredClone(spec);
  removeDefaults(lean, () => meaningOf(lean) === meaning);
  return lean;
}

function meaningOf(spec: Fields): string | undefined {
  const parsed = TrainingJobSpec.safeParse(spec);
  return parsed.success ? JSON.stringify(parsed.data) : undefined;
}

/** `isSame`: whether the whole still means what it did. */
function removeDefaults(fields: Fields, isSame: () => boolean): void {
  for (const [key, value] of Object.entries(fields)) {
    const before = { ...fields };
    delete fields[key];
    if (isSame()) continue;
    // All are put back, so that they keep their order.
    for (const other of Object.keys(fields)) delete fields[other];
    Object.assign(fields, before);
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) removeDefaults(value as Fields, isSame);
  }
}
