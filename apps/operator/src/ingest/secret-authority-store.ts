import {
  isAlreadyExists,
  isConflict,
  isNotFound,
  resourcePath,
  type KubeClient,
  type KubeObject,
} from '@coxswain/kube';
import type { KeyPair } from './authority.ts';
import type { AuthorityContent, AuthorityStore, StoredAuthority } from './report-tls.ts';
import { REPORT_TLS_SECRET } from './tls-secret-name.ts';

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** The authority in the Secret of the operator's own namespace. */
export class SecretAuthorityStore implements AuthorityStore {
  readonly #client: Pick<KubeClient, 'get' | 'create' | 'patch'>;
  readonly #namespace: string;

  constructor(client: Pick<KubeClient, 'get' | 'create' | 'patch'>, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  async read(): Promise<StoredAuthority | undefined> {
    try {
      const secret = await this.#client.get<Secret>(this.#path(REPORT_TLS_SECRET));
      return {
        uid: secret.metadata.uid ?? '',
        resourceVersion: secret.metadata.resourceVersion ?? '',
        ...pairOf('ca', secret.data),
        ...pairOf('next', secret.data),
      };
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  create(content: AuthorityContent): Promise<'written' | 'conflict'> {
    const metadata = { name: REPORT_TLS_SECRET, namespace: this.#namespace };
    const body = { apiVersion: 'v1', kind: 'Secret', type: 'Opaque', metadata, data: present(toData(content)) };
    return written(() => this.#client.create(this.#path(), body));
  }

  update(stored: StoredAuthority, content: AuthorityContent): Promise<'written' | 'conflict'> {
    const { uid, resourceVersion } = stored;
    const body = { metadata: { uid, resourceVersion }, data: toData(content) };
    return written(() => this.#client.patch(this.#path(REPORT_TLS_SECRET), body, { type: 'merge' }));
  }

  #path(name?: string): string {
    const collection = { group: '', version: 'v1', plural: 'secrets', namespace: this.#namespace };
    return resourcePath(name === undefined ? collection : { ...collection, name });
  }
}

async function written(write: () => Promise<unknown>): Promise<'written' | 'conflict'> {
  try {
    await write();
    return 'written';
  } catch (error) {
    if (isAlreadyExists(error) || isConflict(error) || isNotFound(error)) return 'conflict';
    throw error;
  }
}

/** `null` removes a key in a merge patch. */
function toData({ ca, next }: AuthorityContent): Record<string, string | null> {
  const encode = (text: string | undefined): string | null =>
    text === undefined ? null : Buffer.from(text).toString('base64');
  return {
    'ca.crt': encode(ca.certPem),
    'ca.key': encode(ca.keyPem),
    'next.crt': encode(next?.certPem),
    'next.key': encode(next?.keyPem),
  };
}

function present(data: Record<string, string | null>): Record<string, string> {
  return Object.fromEntries(Object.entries(data).filter((entry): entry is [string, string] => entry[1] !== null));
}

function pairOf<K extends 'ca' | 'next'>(name: K, data: Secret['data']): { readonly [P in K]?: KeyPair } {
  const [cert, key] = [data?.[`${name}.crt`], data?.[`${name}.key`]];
  if (cert === undefined || cert === '' || key === undefined || key === '') return {};
  const decode = (text: string): string => Buffer.from(text, 'base64').toString('utf8');
  return { [name]: { certPem: decode(cert), keyPem: decode(key) } } as { readonly [P in K]?: KeyPair };
}
