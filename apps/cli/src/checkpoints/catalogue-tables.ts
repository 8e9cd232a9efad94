import type { CheckpointDetail, CheckpointRecord, CheckpointVerification, TensorGroup } from '@coxswain/api-types';
import { formatBytes, formatDuration } from '@coxswain/units';
import { type FittedColumn, fittedTable } from '../output/fitted-table.ts';
import { columns, utcText } from '../output/output.ts';

type RecordColumn = FittedColumn<CheckpointRecord>;

const STEP: RecordColumn = { title: 'STEP', worth: 8, cell: ({ step }) => `${step}` };
const ATTEMPT: RecordColumn = { title: 'ATTEMPT', worth: 2, cell: ({ epoch }) => `${epoch}` };
const STATE: RecordColumn = { title: 'STATE', worth: 7, cell: stateOf };
const SIZE: RecordColumn = { title: 'SIZE', worth: 5, cell: ({ bytes }) => formatBytes(bytes) };
const FORMAT: RecordColumn = { title: 'FORMAT', worth: 1, cell: ({ format }) => format };
const VERIFIED: RecordColumn = { title: 'VERIFIED', worth: 6, cell: describeVerified };
const HOLDS: RecordColumn = { title: 'HOLDS', worth: 3, cell: describeHeld };
const SAVED: RecordColumn = { title: 'SAVED (UTC)', worth: 4, cell: ({ createdAt }) => utcText(createdAt) };
const JOB: RecordColumn = { title: 'JOB', worth: 8, cell: ({ jobName }) => jobName };
const NAME: RecordColumn = { title: 'NAME', worth: 9, cell: ({ name }) => name };
const OF_ONE_JOB = [STEP, ATTEMPT, STATE, SIZE, FORMAT, VERIFIED, HOLDS, NAME];
const OF_A_PROJECT = [SAVED, JOB, STEP, STATE, SIZE, VERIFIED, HOLDS, NAME];

/** Checkpoints of one job. */
export function checkpointTable(items: readonly CheckpointRecord[], widthColumns: number | undefined): string {
  if (items.length === 0) return 'No checkpoints yet.';
  return fittedTable([...OF_ONE_JOB, ...moreColumns(items)], items, widthColumns);
}

/** Checkpoints of a project. */
export function catalogueTable(items: readonly CheckpointRecord[], widthColumns: number | undefined): string {
  if (items.length === 0) return 'No checkpoints.';
  return fittedTable([...OF_A_PROJECT, ...moreColumns(items)], items, widthColumns);
}

/** LOSS and KEPT, each if it is known of one of the checkpoints. */
function moreColumns(items: readonly CheckpointRecord[]): readonly RecordColumn[] {
  const lossOf = ({ progress }: CheckpointRecord): string | undefined =>
    progress?.loss === undefined ? undefined : formatLoss(progress.loss);
  return [
    { title: 'LOSS', worth: 4, of: lossOf },
    { title: 'KEPT', worth: 2, of: describeKept },
  ].flatMap(({ title, worth, of }) =>
    items.some((item) => of(item) !== undefined) ? [{ title, worth, cell: (item) => of(item) ?? '-' }] : [],
  );
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
