import type { CheckpointDetail, CheckpointRecord, CheckpointVerification, TensorGroup } from '@coxswain/api-types';
import { formatBytes } from '@coxswain/units';
import { columns, utcText } from '../output/output.ts';

/** Checkpoints of one job. */
export function checkpointTable(items: readonly CheckpointRecord[]): string {
  const rows = items.map((item) => [
    String(item.step),
    String(item.epoch),
    stateOf(item),
    formatBytes(item.bytes),
    item.format,
    describeVerified(item),
    describeHeld(item),
    item.name,
  ]);
  const heads = ['STEP', 'ATTEMPT', 'STATE', 'SIZE', 'FORMAT', 'VERIFIED', 'HOLDS', 'NAME'];
  return rows.length === 0 ? 'No checkpoints yet.' : columns([heads, ...rows]);
}

/** Checkpoints of a project. */
export function catalogueTable(items: readonly CheckpointRecord[]): string {
  if (items.length === 0) return 'No checkpoints.';
  const rows = items.map((item) => [
    utcText(item.createdAt),
    item.jobName,
    `${item.step}`,
    stateOf(item),
    formatBytes(item.bytes),
    describeVerified(item),
    describeHeld(item),
    item.name,
  ]);
  return columns([['SAVED (UTC)', 'JOB', 'STEP', 'STATE', 'SIZE', 'VERIFIED', 'HOLDS', 'NAME'], ...rows]);
}

/** One checkpoint: what it is, what it holds, and each verification of it. */
export function checkpointText(detail: CheckpointDetail): string {
  const { contents } = detail;
  const facts = [
    ['Name', detail.name],
    ['UID', detail.uid],
    ['Namespace', detail.namespace],
    ['Job', detail.jobName],
    ['Saved', `${utcText(detail.createdAt)} UTC, step ${detail.step}, attempt ${detail.epoch}`],
    ['Deleted', detail.deletedAt === null ? undefined : `${utcText(detail.deletedAt)} UTC`],
    ['State', stateOf(detail)],
    ['Message', detail.message ?? undefined],
    ['Pin', detail.pin ?? undefined],
    ['Path', detail.path],
    ['Format', detail.format],
    ['Size', `${formatBytes(detail.bytes)} in ${detail.files} files`],
    ['Holds', describeHeld({ ...detail, pin: null })],
    ['Tensors', contents === null ? undefined : `${contents.tensors} in ${contents.chunks} chunks`],
    ['Engine', contents?.engineRelease],
  ].flatMap(([name = '', text]) => (text === undefined ? [] : [[name, text]]));
  const groups = groupTable(detail.tensorGroups ?? []);
  return `${columns(facts)}\n\n${verificationTable(detail.verifications)}${groups}`;
}

function verificationTable(verifications: readonly CheckpointVerification[]): string {
  if (verifications.length === 0) return 'No verification is recorded.';
  const rows = verifications.map(({ at, level, verdict, by, node, findings }) => [
    utcText(at),
    level,
    verdict,
    by.toLowerCase(),
    node ?? '-',
    findings[0]?.message ?? '-',
  ]);
  return columns([['VERIFIED (UTC)', 'LEVEL', 'VERDICT', 'BY', 'NODE', 'FIRST FINDING'], ...rows]);
}

function groupTable(groups: readonly TensorGroup[]): string {
  if (groups.length === 0) return '';
  const times = (sizes: readonly number[]): string => (sizes.length === 0 ? '-' : sizes.join('x'));
  const rows = groups.map(({ name, tensors, dtype, shape, grid, kind }) => [
    name,
    String(tensors),
    dtype,
    times(shape),
    times(grid),
    kind,
  ]);
  return `\n\n${columns([['TENSORS', 'COUNT', 'DTYPE', 'SHAPE', 'CHUNKS', 'KIND'], ...rows])}`;
}

function stateOf({ deletedAt, state, isSuspect }: CheckpointRecord): string {
  if (deletedAt !== null) return 'Deleted';
  return isSuspect ? 'Suspect' : state;
}

/** `sound (V3)` */
function describeVerified({ verification }: CheckpointRecord): string {
  return verification === null ? '-' : `${verification.verdict} (${verification.level})`;
}

function describeHeld({ contents, pin }: CheckpointRecord): string {
  const isKnown = contents !== null && (contents.isResumable || contents.holds.optimizer === false);
  const held = !isKnown ? '-' : contents.isResumable ? 'resumable' : 'weights only';
  return pin === null ? held : `${held}, pinned`;
}
