/** Which labels may a job have? The grammar is that of Kubernetes, where they are the TrainingJob's own. */
import { z } from 'zod';

/** Most labels of a job, as it is answered. */
export const MAX_LABELS = 64;

const MAX_NAME = 63;
const MAX_PREFIX = 253;
const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const PREFIX = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
/** Prefixes whose labels mean something to Kubernetes or to us, with whatever stands before them. */
const RESERVED = ['kubernetes.io', 'k8s.io', 'coxswain.dev'];

/** What is wrong with the key of a label; undefined when nothing is. */
export function labelKeyProblem(key: string): string | undefined {
  const slash = key.indexOf('/');
  const name = key.slice(slash + 1);
  if (name.length > MAX_NAME || !NAME.test(name)) {
    return `the name of a label key has 1 to ${MAX_NAME} letters, digits, "-", "_" and ".", and begins and ends with a letter or digit`;
  }
  const prefix = key.slice(0, Math.max(0, slash));
  if (slash < 0 || (prefix.length <= MAX_PREFIX && PREFIX.test(prefix))) return undefined;
  return 'the prefix of a label key, before its "/", is a DNS name in lower case such as example.com';
}

/** What is wrong with the value of a label; undefined when nothing is. It may be empty. */
export function labelValueProblem(value: string): string | undefined {
  if (value === '' || (value.length <= MAX_NAME && NAME.test(value))) return undefined;
  return `a label value is empty or has at most ${MAX_NAME} letters, digits, "-", "_" and ".", and begins and ends with a letter or digit`;
}

/** Whether only Kubernetes and its programs, or ours, may write labels of this key. */
export function isReservedLabel(key: string): boolean {
  const prefix = key.slice(0, Math.max(0, key.indexOf('/')));
  return RESERVED.some((domain) => prefix === domain || prefix.endsWith(`.${domain}`));
}

/** Checked by a function: a schema of keys could not name what is invalid. */
function checkKeys(labels: object, context: z.RefinementCtx): void {
  for (const key of Object.keys(labels)) {
    const problem =
      labelKeyProblem(key) ??
      (isReservedLabel(key)
        ? `labels with a prefix of ${RESERVED.join(', ')} are written by Kubernetes and by Coxswain; choose a prefix of your own, or none`
        : undefined);
    if (problem !== undefined) context.addIssue({ code: 'custom', path: [key], message: problem });
  }
}

const value = z.string().superRefine((text, context) => {
  const problem = labelValueProblem(text);
  if (problem !== undefined) context.addIssue({ code: 'custom', message: problem });
});
const atMost = (labels: object): boolean => Object.keys(labels).length <= MAX_LABELS;
const TOO_MANY = { message: `a job has at most ${MAX_LABELS} labels` };

/** Labels that a person gives to a job. */
export const JobLabels = z
  .record(z.string(), value)
  .superRefine(checkKeys)
  .refine(atMost, TOO_MANY)
  .describe('Labels of the TrainingJob, as Kubernetes spells them.');
export type JobLabels = z.infer<typeof JobLabels>;

/** A change of them: what is null is removed, what is not named stays. */
export const JobLabelChange = z
  .record(z.string(), value.nullable())
  .superRefine(checkKeys)
  .refine(atMost, TOO_MANY)
  .describe('A merge patch (RFC 7396): null removes a label, what is not named stays.');
export type JobLabelChange = z.infer<typeof JobLabelChange>;
