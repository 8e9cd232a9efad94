/** Which notices announce that a Node will go away, and when? */
import { type DisruptionNoticeRule, NODE_MARKS } from '@coxswain/api-types';
import { LEAVE_BEFORE_MS, type NodeWindow } from '@coxswain/fabric';
import { safeText } from '@coxswain/safe-text';

/** A mark on a Node which announces that the Node will go away. */
export interface NodeNotice {
  /** Name of the rule. */
  readonly rule: string;
  /** Such as `taint karpenter.sh/disrupted`. */
  readonly mark: string;
  /** Milliseconds since 1970; absent: at once. */
  readonly beginsAtMs?: number;
  /** Milliseconds since 1970: from then on the notice says nothing; absent: until its mark is removed, a day at most. */
  readonly endsAtMs?: number;
  /** An administrator asked for the node to be emptied, with the mark of Coxswain. Others only announce. */
  readonly isRequested?: true;
}

/** A notice older than this is ignored: its time passed and nothing happened. */
const FORGOTTEN_AFTER_MS = 86_400_000;

/** Notices on a v1 Node by these rules, at most one a rule, in the order of the rules. None is left out: a notice that is due may come last. Never throws; a field of an unexpected shape is ignored. */
export function noticesOfNode(node: unknown, rules: readonly DisruptionNoticeRule[]): readonly NodeNotice[] {
  const marks = marksOf(node);
  return rules.flatMap((rule) => noticeBy(rule, marks) ?? []);
}

/** The first notice that asks gangs to leave now, by the wall clock. */
export function dueNotice(notices: readonly NodeNotice[], now: Date): NodeNotice | undefined {
  return notices.find(({ beginsAtMs, endsAtMs }) => {
    if (beginsAtMs === undefined) return true;
    const inMs = beginsAtMs - now.getTime();
    if (inMs > LEAVE_BEFORE_MS) return false;
    return endsAtMs === undefined ? inMs > -FORGOTTEN_AFTER_MS : now.getTime() < endsAtMs;
  });
}

/** What windows over a node say to the jobs of that namespace. An administrator wrote them, so gangs leave as asked. */
export function windowNotices(windows: readonly NodeWindow[], namespace: string | undefined): readonly NodeNotice[] {
  return windows
    .filter((window) => window.namespace === undefined || window.namespace !== namespace)
    .map(({ name, fromMs, untilMs, namespace: owner }) => ({
      rule: owner === undefined ? 'maintenance-window' : 'project-window',
      // Jobs of others read it, and a window's name may name a project.
      mark: owner === undefined ? `${name} of Fabric cluster` : 'a window of Fabric cluster',
      beginsAtMs: fromMs,
      endsAtMs: untilMs,
      isRequested: true,
    }));
}

/** The earliest notice that will ask gangs to leave within `withinMs`; undefined: none, or it is due already. */
export function comingNotice(
  notices: readonly NodeNotice[],
  { now, withinMs }: { readonly now: Date; readonly withinMs: number },
): NodeNotice | undefined {
  const coming = notices.filter(({ beginsAtMs }) => {
    const inMs = (beginsAtMs ?? 0) - now.getTime();
    return inMs > LEAVE_BEFORE_MS && inMs <= withinMs;
  });
  return coming.toSorted((one, other) => (one.beginsAtMs ?? 0) - (other.beginsAtMs ?? 0))[0];
}

/** `aws-spot (taint aws-node-termination-handler/spot-itn)` */
export function describeNotice({ rule, mark, beginsAtMs }: NodeNotice): string {
  const when = beginsAtMs === undefined ? '' : `, from ${new Date(beginsAtMs).toISOString()}`;
  return `${rule} (${safeText(mark, 330)}${when})`;
}

type Kind = 'taint' | 'label' | 'annotation' | 'condition';
type Marks = Readonly<Record<Kind, ReadonlyMap<string, string>>>;

function marksOf(node: unknown): Marks {
  const { metadata, spec, status } = fields(node);
  const { labels, annotations } = fields(metadata);
  const conditions = list(fields(status)['conditions']).filter((one) => one['status'] === 'True');
  return {
    taint: new Map(list(fields(spec)['taints']).map(({ key, value }) => [text(key), text(value)])),
    label: new Map(Object.entries(fields(labels)).map(([key, value]) => [key, text(value)])),
    annotation: new Map(Object.entries(fields(annotations)).map(([key, value]) => [key, text(value)])),
    condition: new Map(conditions.map(({ type, reason }) => [text(type), text(reason)])),
  };
}

const KINDS: readonly Kind[] = ['taint', 'label', 'annotation', 'condition'];

function noticeBy(rule: DisruptionNoticeRule, marks: Marks): NodeNotice | undefined {
  const kind = KINDS.find((one) => rule[one] !== undefined);
  const key = kind === undefined ? undefined : rule[kind];
  if (kind === undefined || key === undefined) return undefined;
  const value = marks[kind].get(key);
  if (value === undefined || (rule.values !== undefined && !rule.values.includes(value))) return undefined;
  const requested = key === NODE_MARKS.maintenance ? { isRequested: true as const } : {};
  const notice: NodeNotice = { rule: rule.name, mark: `${kind} ${key}`, ...requested };
  if (rule.begins === 'Now' || (rule.begins === 'AtTimestamp' && !/\d/.test(value))) return notice;
  const beginsAtMs = rule.begins === 'AtUnixSeconds' ? Number(value) * 1000 : Date.parse(timeIn(value));
  return isTime(beginsAtMs) ? { ...notice, beginsAtMs } : undefined;
}

/** Values of taints and labels hold no colon: `2026-11-25T22-30-00Z` is read too. */
function timeIn(value: string): string {
  return value.replace(/T(\d\d)-(\d\d)(?:-(\d\d))?/, (_all, hours, minutes, seconds = '00') =>
    ['T', String(hours), ':', String(minutes), ':', String(seconds)].join(''),
  );
}

/** The range of ECMAScript's dates. */
function isTime(ms: number): boolean {
  return Number.isFinite(ms) && ms > 0 && ms <= 8.64e15;
}

function fields(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}

function list(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.map(fields) : [];
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
