/** What does the quota of a job add to what its pods demand of nodes? */
import type { NodeDemand } from '@coxswain/fabric';
import { type JobQuota, type NodeRules, withNodeRules } from '@coxswain/scheduling';
import type { ObservedRuntime } from './observed.ts';

/**
 * The runtime whose pods also obey the flavours of the quota, so that nodes are chosen, reserved and checked by one demand, and pods tolerate the taints
 * of their nodes. The spec of the job is never changed.
 */
export function withinQuota(
  runtime: ObservedRuntime | undefined,
  quota: JobQuota | undefined,
): ObservedRuntime | undefined {
  const rules = rulesOf(quota);
  if (rules === undefined || runtime?.kind !== 'found' || runtime.runtime.usable.kind !== 'usable') return runtime;
  const { usable } = runtime.runtime;
  const snapshot = { ...usable.snapshot, template: templateWithin(usable.snapshot.template, rules) };
  return { ...runtime, runtime: { ...runtime.runtime, usable: { ...usable, snapshot } } };
}

type Template = Readonly<Record<string, unknown>>;

/** What is derived from a template is remembered by the object, so the same template and rules give the same object. */
const known = new WeakMap<Template, { readonly rules: NodeRules; readonly merged: Template }>();

function templateWithin(template: Template, rules: NodeRules): Template {
  const before = known.get(template);
  if (before?.rules === rules) return before.merged;
  const spec = record(template['spec']);
  const tolerations: readonly unknown[] = Array.isArray(spec['tolerations']) ? spec['tolerations'] : [];
  const merged = {
    ...template,
    spec: {
      ...spec,
      nodeSelector: { ...record(spec['nodeSelector']), ...rules.nodeSelector },
      tolerations: [...tolerations, ...rules.tolerations],
    },
  };
  known.set(template, { rules, merged });
  return merged;
}

/** For a job without a runtime: its pods carry no tolerations, so they stay off tainted nodes of the flavours. undefined: no more than GPUs is demanded. */
export function demandOfQuota(quota: JobQuota | undefined): NodeDemand | undefined {
  const rules = rulesOf(quota);
  if (rules === undefined || Object.keys(rules.nodeSelector).length === 0) return undefined;
  return withNodeRules(undefined, { nodeSelector: rules.nodeSelector, tolerations: [] });
}

function rulesOf(quota: JobQuota | undefined): NodeRules | undefined {
  if (quota?.kind !== 'reserved' && quota?.kind !== 'admitted') return undefined;
  const { nodeSelector, tolerations } = quota.rules;
  return Object.keys(nodeSelector).length + tolerations.length === 0 ? undefined : quota.rules;
}

function record(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : {};
}
