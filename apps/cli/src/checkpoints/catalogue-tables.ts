import type { CheckpointDetail, CheckpointRecord, CheckpointVerification, TensorGroup } from '@coxswain/api-types';
import { formatBytes, formatDuration } from '@coxswain/units';
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
  return rows.length === 0 ? 'No checkpoints yet.' : columns(withMore([heads, ...rows], items));
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
  const heads = ['SAVED (UTC)', 'JOB', 'STEP', 'STATE', 'SIZE', 'VERIFIED', 'HOLDS', 'NAME'];
  return columns(withMore([heads, ...rows], items));
}

/** The rows with the columns LOSS and KEPT at their end, each if it is known of one of them. */
function withMore(rows: readonly (readonly string[])[], items: readonly CheckpointRecord[]): readonly string[][] {
  const loss = items.map(({ progress }) => (progress?.loss === undefined ? undefined : formatLoss(progress.loss)));
  const more = [
    { head: 'LOSS', values: loss },
    { head: 'KEPT', values: items.map(describeKept) },
  ].filter(({ values }) => values.some((value) => value !== undefined));
  return rows.map((row, index) => [
    ...row,
    ...more.map(({ head, values }) => (index === 0 ? head : (values[index - 1] ?? '-'))),
  ]);
}

function formatLoss(loss: number): string {
  return String(Number(loss.toPrecision(5)));
}

/** `2.31 (of step 20)` */
function describeLoss({ progress, step }: CheckpointRecord): string | undefined {
  if (progress?.loss === undefined) return undefined;
  const { loss, lossStep = step } = progress;
  return `${formatLoss(loss)}${lossStep === step ? '' : ` (of step ${lossStep})`}`;
}

/** `in the background: ranks trained 3 steps meanwhile, in 9 s or more`. Undefined: ranks waited, or it is not known. */
function describeBackground({ progress }: CheckpointRecord): string | undefined {
  const { stepsDuringWrite: steps, msDuringWrite: ms } = progress ?? {};
  if (steps === undefined || ms === undefined) return undefined;
  return `in the background: ranks trained ${steps} steps meanwhile, in ${formatDuration(ms)} or more`;
}

/** `yes: It is pinned: baseline.` Undefined: no policy decided about it. */
function describeKept({ retention }: CheckpointRecord): string | undefined {
  if (retention === null) return undefined;
  const { keeps, because, problem } = retention;
  return `${keeps ? 'yes' : 'no'}: ${because}${problem === undefined ? '' : ` It is not deleted yet: ${problem}`}`;
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
    ['Kept', describeKept(detail)],
    ['Loads now', describeLoads(detail)],
    ['Path', detail.path],
    ['Format', detail.format],
    ['Size', `${formatBytes(detail.bytes)} in ${detail.files} files`],
    ['Holds', describeHeld({ ...detail, pin: null })],
    ['Loss', describeLoss(detail)],
    ['Tokens', detail.progress?.tokens?.toLocaleString('en')],
    ['Written', describeBackground(detail)],
    ['Tensors', contents === null ? undefined : `${contents.tensors} in ${contents.chunks} chunks`],
    ['Engine', contents?.engineRelease],
    ['Used by', describeUses(detail)],
  ].flatMap(([name = '', text]) => (text === undefined ? [] : [[name, text]]));
  const groups = groupTable(detail.tensorGroups ?? []);
  return `${columns(facts)}\n\n${verificationTable(detail.verifications)}${groups}`;
}

/** Attempts that began from it; undefined: none. */
function describeUses({ usedBy }: CheckpointDetail): string | undefined {
  // An API of the release before does not send it.
  const { total, attempts } = usedBy ?? { total: 0, attempts: [] };
  if (total === 0) return undefined;
  const named = attempts.map(({ jobName, epoch }) => `${jobName} attempt ${epoch}`);
  const more = total - named.length;
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

/** At the layout that its job has now. */
function describeLoads({ loads }: CheckpointDetail): string | undefined {
  if (loads === null) return undefined;
  const { verdict, message, warnings } = loads;
  return [`${verdict}. ${message}`, ...warnings].join(' ');
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

function stateOf({ deletedAt, state, isSuspect, isBeingDeleted, isAbsent }: CheckpointRecord): string {
  if (deletedAt !== null) return 'Deleted';
  if (isBeingDeleted) return 'Deleting';
  if (isAbsent) return 'Absent';
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
