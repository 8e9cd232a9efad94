import { CliError } from '../cli-error.ts';
import { readDocument } from '../files/read-document.ts';
import { KUEUE_KINDS } from './kueue-findings.ts';
import type { ReadObject } from './read-object.ts';
import { DOCTOR_KINDS, type DoctorKind, type DoctorObjects } from './doctor-findings.ts';

/** The objects of a List of several kinds as kubectl prints it, by kind. Throws a {@link CliError} if the file holds something else. */
export function objectsOfFile(path: string): DoctorObjects {
  const shown = path === '-' ? 'standard input' : path;
  const items = (readDocument(path) as { readonly items?: unknown } | null)?.items;
  if (!Array.isArray(items))
    throw new CliError(`${shown} is no List of objects; coxswain doctor --help has the command that creates it.`);
  const kinds = Object.keys(DOCTOR_KINDS) as DoctorKind[];
  const objects = new Map<unknown, ReadObject[]>([...kinds, ...KUEUE_KINDS].map((kind) => [kind, []]));
  for (const [index, item] of (items as readonly (Partial<ReadObject> | null)[]).entries()) {
    if (typeof item?.metadata?.name !== 'string')
      throw new CliError(`${shown}: items[${index}] has no metadata.name; coxswain doctor --help has the command.`);
    objects.get(item['kind'])?.push(item as ReadObject);
  }
  // Whether a list of none was read, or the kind was not asked for, is unknown.
  const hasKueue = KUEUE_KINDS.some((kind) => (objects.get(kind)?.length ?? 0) > 0);
  if (!hasKueue) for (const kind of KUEUE_KINDS) objects.delete(kind);
  return Object.fromEntries(objects) as DoctorObjects;
}
