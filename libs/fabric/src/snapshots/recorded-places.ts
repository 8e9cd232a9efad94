/** How is it kept with a Placement what its gang counted on, so that another leader can tell that it changed? */
import { type RecordedPlace, RecordedPlaces } from '@coxswain/api-types';
import type { FabricNode } from '../nodes/fabric.ts';
import { ownDomainOf } from '../nodes/own-domain.ts';
import { type Place, placesOf } from './gang-changes.ts';

/** Of an annotation; all of an object's together may have 256 KiB. */
const MOST_CHARACTERS = 131_072;

/** Undefined if it does not fit: then changes are counted from the leader's first observation. */
export function placesToText(
  nodes: readonly string[],
  nodeOf: (name: string) => FabricNode | undefined,
): string | undefined {
  const byName = new Map(placesOf(nodes, nodeOf).map((place) => [place.name, place]));
  const indices = new Map<string, number>();
  const of = nodes.map((name) => {
    const place = byName.get(name);
    if (place === undefined) return -1;
    const recorded = JSON.stringify(toRecorded(place));
    const index = indices.get(recorded) ?? indices.size;
    indices.set(recorded, index);
    return index;
  });
  const written = `{"places":[${[...indices.keys()].join(',')}],"of":${JSON.stringify(of)}}`;
  return written.length > MOST_CHARACTERS ? undefined : written;
}

/** What is recorded of these nodes; undefined where nothing is, or nothing that can be read. */
export function placesFromText(nodes: readonly string[], written: string | undefined): readonly Place[] | undefined {
  if (written === undefined || written.length > MOST_CHARACTERS) return undefined;
  const read = RecordedPlaces.safeParse(parsed(written));
  if (!read.success || read.data.of.length !== nodes.length) return undefined;
  const { places, of } = read.data;
  const byName = new Map(
    nodes.flatMap((name, index) => {
      const recorded = places[of[index] ?? -1];
      return recorded === undefined ? [] : [[name, toPlace(name, recorded)] as const];
    }),
  );
  return [...byName.values()];
}

function toRecorded({ name, nvlinkDomain, island, nicType }: Place): RecordedPlace {
  return [nvlinkDomain === ownDomainOf(name) ? null : nvlinkDomain, island, nicType ?? null];
}

function toPlace(name: string, [nvlinkDomain, island, nicType]: RecordedPlace): Place {
  return { name, nvlinkDomain: nvlinkDomain ?? ownDomainOf(name), island, ...(nicType === null ? {} : { nicType }) };
}

function parsed(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    return undefined;
  }
}
