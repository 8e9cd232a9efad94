/**
 * Does a pod wait for a Secret that its job names? The operator may not read Secrets. Kubelets report a missing Secret of a variable, and
 * report nothing for a file.
 */
import { bucketVariables } from '@coxswain/api-types';
import type { Facts } from './facts.ts';
import type { ObservedPod } from './observed.ts';

/** Messages of kubelets about a variable that they cannot set; local nodes use the same. */
const NO_SECRET = /^secret "(?<secret>[^"]+)" not found/;
const NO_KEY = /^couldn't find key (?<key>\S+) in Secret (?:\S+\/)?(?<secret>[^\s/]+)/;
/** Files to list; the rest is counted. */
const SHOWN_FILES = 3;

/** The end of a sentence that names variable, key and Secret; undefined: the container waits for something else. */
export function missingSecret(
  { spec, job }: Facts,
  waiting: NonNullable<ObservedPod['containerWaiting']>,
): string | undefined {
  if (waiting.reason !== 'CreateContainerConfigError') return undefined;
  const missingRef = (NO_SECRET.exec(waiting.message) ?? NO_KEY.exec(waiting.message))?.groups;
  if (missingRef === undefined) return undefined;
  const ofBucket = bucketVariables(spec?.checkpoint?.bucket);
  const variable = [...(spec?.engine.secretEnv ?? []), ...ofBucket].find(
    ({ secret, key, optional }) => !optional && secret === missingRef['secret'] && (missingRef['key'] ?? key) === key,
  );
  if (variable === undefined) return undefined;
  const { name, secret, key } = variable;
  const missing =
    missingRef['key'] === undefined
      ? `namespace ${job.metadata.namespace} has no such Secret`
      : 'there is no such key in it';
  const use = ofBucket.includes(variable) ? 'spec.checkpoint.bucket needs' : `variable ${name} is`;
  return `${use} key ${key} of Secret ${secret}, and ${missing}`;
}

/** The Secret keys that kubelets must mount before they start the containers: `key token of Secret job-hf`. undefined: there are none. */
export function awaitedFiles({ spec }: Facts): string | undefined {
  const files = (spec?.engine.secretFiles ?? []).filter(({ optional }) => !optional);
  if (files.length === 0) return undefined;
  const shown = files.slice(0, SHOWN_FILES).map(({ secret, key }) => `key ${key} of Secret ${secret}`);
  const more = files.length > SHOWN_FILES ? ` and ${files.length - SHOWN_FILES} more` : '';
  return `${shown.join(', ')}${more}`;
}
