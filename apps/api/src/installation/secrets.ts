import { isAlreadyExists, type KubeClient, type KubeObject, resourcePath } from '@coxswain/kube';

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** A Secret of the release's own namespace. */
export interface SecretPlace {
  readonly namespace: string;
  readonly name: string;
}

/** What the Secret holds; where there is none, it holds `fresh` from now on. Throws a sentence where a key of `fresh` is missing in it. */
export async function keepInSecret<K extends string>(
  client: Pick<KubeClient, 'get' | 'create'>,
  place: SecretPlace,
  fresh: Readonly<Record<K, string>>,
): Promise<Readonly<Record<K, string>>> {
  try {
    await client.create(resourcePath({ ...SECRETS, namespace: place.namespace }), objectOf(place, fresh));
    return fresh;
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  const { data = {} } = await client.get<Secret>(resourcePath({ ...SECRETS, ...place }));
  const keys = Object.keys(fresh) as K[];
  const missing = keys.filter((key) => data[key] === undefined || data[key] === '');
  if (missing.length > 0) {
    throw new Error(
      `the Secret ${place.namespace}/${place.name} lacks ${missing.join(', ')}, so this installation did not create it. Delete it; the next upgrade creates it with new passwords`,
    );
  }
  const kept = keys.map((key) => [key, Buffer.from(data[key] ?? '', 'base64').toString('utf8')]);
  return Object.fromEntries(kept) as Record<K, string>;
}

/** Writes these keys, over what they held. */
export async function writeSecret(
  client: Pick<KubeClient, 'apply'>,
  place: SecretPlace,
  content: Readonly<Record<string, string>>,
): Promise<void> {
  await client.apply(resourcePath({ ...SECRETS, ...place }), objectOf(place, content), { force: true });
}

const SECRETS = { group: '', version: 'v1', plural: 'secrets' };

function objectOf(place: SecretPlace, content: Readonly<Record<string, string>>): unknown {
  const data = Object.fromEntries(
    Object.entries(content).map(([key, text]) => [key, Buffer.from(text).toString('base64')]),
  );
  return { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata: place, data };
}
