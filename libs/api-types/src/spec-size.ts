/** How large may the spec of a job be? */

/** 128 kB. A spec is repeated by its row, by its resource in the cluster and by answers, and most are under 4 kB. */
export const MAX_SPEC_BYTES = 131_072;

/** Bytes of the spec as JSON in UTF-8, with its defaults. */
export function specBytes(spec: object): number {
  return new TextEncoder().encode(JSON.stringify(spec)).length;
}

/** What is wrong with the size of a spec; undefined when it may be so large. */
export function specSizeProblem(spec: object): string | undefined {
  const bytes = specBytes(spec);
  if (bytes <= MAX_SPEC_BYTES) return undefined;
  return `the spec has ${bytes} bytes as JSON; at most ${MAX_SPEC_BYTES} (128 kB) are allowed. Put long texts into the image or onto a volume, and name the file in env or args`;
}
