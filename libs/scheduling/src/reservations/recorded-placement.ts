/** Which Placement of a job is valid? Only the one whose hash the job's status recorded before the Placement was created. */
import type { Attempt, Placement, PlacementSpec } from '@coxswain/api-types';
import { sha256 } from '@noble/hashes/sha2.js';
import { bytesToHex, utf8ToBytes } from '@noble/hashes/utils.js';
import { canonicalJson } from './canonical-json.ts';

/** Every reconciliation asks for the hash of the same cached object, and hashing a large one takes milliseconds. */
const known = new WeakMap<PlacementSpec, string>();

/** SHA-256 of the spec in its canonical form (keys in order, without spaces), as 64 hexadecimal digits. The caller must not change the spec afterwards. */
export function placementSha256(spec: PlacementSpec): string {
  const before = known.get(spec);
  if (before !== undefined) return before;
  const digest = bytesToHex(sha256(utf8ToBytes(canonicalJson(spec))));
  known.set(spec, digest);
  return digest;
}

/** The fields of an attempt that identify its Placement. */
type Recording = Pick<Attempt, 'epoch' | 'placement' | 'placementSha256'>;

/** Whether the attempt recorded that Placement. An attempt of a release that recorded no hash is matched by name alone. */
export function isRecordedPlacement(
  { metadata, spec }: Pick<Placement, 'spec'> & { readonly metadata: Pick<Placement['metadata'], 'name'> },
  attempt: Recording,
): boolean {
  if (metadata.name !== attempt.placement || spec.epoch !== attempt.epoch) return false;
  return attempt.placementSha256 === undefined || attempt.placementSha256 === placementSha256(spec);
}
