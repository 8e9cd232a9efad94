/**
 * Finds plain values of a job that look like credentials. They would stay in the resource and in the database, and everyone who may read the job could read
 * them. A value is known by its form, where its issuer gave it one (prefixes and lengths are those that secret scanners use), or by the name
 * of its variable. Findings name the kind and the field, never the value.
 */
import type { z } from 'zod';
import { POD_PATHS } from './names.ts';
import { SECRET_PREFIX } from './secret-references.ts';
import type { EngineSpec } from './engine-spec.ts';

/** Each in time that grows with the length of the text alone: people send 4,096 characters a hundred times. */
const FORMS: readonly { readonly what: string; readonly form: RegExp }[] = [
  { what: 'a Hugging Face token', form: /\b(?:hf|api_org)_[A-Za-z0-9]{34,}\b/ },
  { what: 'a GitHub token', form: /\bgh[pousr]_[A-Za-z0-9]{36,}\b|\bgithub_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59}\b/ },
  { what: 'a GitLab token', form: /\bglpat-[A-Za-z0-9_-]{20}/ },
  { what: 'an AWS access key', form: /\b(?:AKIA|ASIA)[A-Z2-7]{16}\b/ },
  { what: 'an API key of OpenAI', form: /\bsk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40,}|[A-Za-z0-9]{48}\b)/ },
  { what: 'an API key of Anthropic', form: /\bsk-ant-[a-z]+[0-9]{2}-[A-Za-z0-9_-]{80,}/ },
  { what: 'a Google API key', form: /\bAIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])/ },
  { what: 'a Slack token', form: /\bxox[abeprs]-[0-9]{10,13}-[A-Za-z0-9-]{20,}/ },
  { what: 'a Coxswain token', form: /\bcxs_[0-9a-f]{8}_[A-Za-z0-9_-]{43}/ },
  { what: 'a private key', form: /-----BEGIN (?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?-----/ },
  { what: 'the key file of a Google service account', form: /"private_key(?:_id)?"\s{0,9}:\s{0,9}"[^"]/ },
  { what: 'a URL with a password', form: /:\/\/[^\s/:@?#]{0,256}:[^\s/@]{1,256}@/ },
  { what: 'a signed URL', form: /[?&](?:X-Amz-Signature|X-Goog-Signature)=[0-9a-f]{64}|[?&]sig=[A-Za-z0-9%+/]{40,}/i },
];

/** Known by their names: their values have no form of their own (40 hexadecimal digits are a commit as well). */
const NAMES_OF_CREDENTIALS: ReadonlySet<string> = new Set([
  'HF_TOKEN',
  'HUGGING_FACE_HUB_TOKEN',
  'HUGGINGFACE_TOKEN',
  'GH_TOKEN',
  'GITHUB_TOKEN',
  'GITLAB_TOKEN',
  'NPM_TOKEN',
  'NEPTUNE_API_TOKEN',
  'MLFLOW_TRACKING_TOKEN',
  'AWS_SESSION_TOKEN',
  'AZURE_STORAGE_KEY',
  'AZURE_STORAGE_CONNECTION_STRING',
  'KAGGLE_KEY',
  'PGPASSWORD',
]);
/** Ends of names. `_TOKEN` alone is none of them: PAD_TOKEN and EOS_TOKEN are words of a vocabulary. */
const ENDS_AS_CREDENTIAL =
  /(?:^|_)(?:PASSWORD|PASSWD|PASSPHRASE|SECRET|API_?KEY|SECRET_KEY|SECRET_ACCESS_KEY|PRIVATE_KEY|ACCESS_TOKEN|AUTH_TOKEN|API_TOKEN|SECRET_TOKEN|BEARER_TOKEN|REFRESH_TOKEN)$/;
/** What programs want to read where there is no credential, as clients of open models do. */
const NO_CREDENTIAL = /^(?:\s*|empty|none|null|dummy|unused|disabled|true|false|0|1)$/i;

/** A field of the engine, as `['env', 3, 'value']`, and what is wrong with it. */
export interface PlainSecret {
  readonly path: readonly (string | number)[];
  readonly message: string;
}

/** Values of `env`, `command` and `args` that look like credentials. */
export function plainSecrets(
  engine: Pick<z.infer<typeof EngineSpec>, 'env' | 'command' | 'args'>,
): readonly PlainSecret[] {
  const variables = (engine.env ?? []).flatMap(({ name, value }, index) => {
    const what = formOf(value) ?? credentialOf(name, value);
    return what === undefined ? [] : [{ path: ['env', index, 'value'], message: sentence(what) }];
  });
  const words = (['command', 'args'] as const).flatMap((field) =>
    (engine[field] ?? []).flatMap((word, index) => {
      const what = formOf(word);
      return what === undefined ? [] : [{ path: [field, index], message: sentence(what) }];
    }),
  );
  return [...variables, ...words];
}

function formOf(text: string): string | undefined {
  return FORMS.find(({ form }) => form.test(text))?.what;
}

function credentialOf(name: string, value: string): string | undefined {
  const upper = name.toUpperCase();
  if (!NAMES_OF_CREDENTIALS.has(upper) && !ENDS_AS_CREDENTIAL.test(upper)) return undefined;
  const isElsewhere = value.startsWith(`${POD_PATHS.secrets}/`);
  return isElsewhere || NO_CREDENTIAL.test(value) ? undefined : 'a credential, by the name of its variable';
}

function sentence(what: string): string {
  return `looks like ${what}; plain values are stored with the job, and everyone who may read the job can read them. Put it into a Secret whose name begins with "${SECRET_PREFIX}", and reference that Secret in engine.secretEnv or engine.secretFiles`;
}
