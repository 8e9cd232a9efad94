import type { IncomingMessage } from 'node:http';
import type { SeenRequest, Verb } from './faults.ts';

/** What a fault can be chosen by. */
export function seenRequest(incoming: IncomingMessage): SeenRequest {
  const url = new URL(incoming.url ?? '/', 'https://proxy.invalid');
  const method = incoming.method ?? 'GET';
  const contentType = incoming.headers['content-type'] ?? '';
  const userAgent = incoming.headers['user-agent'] ?? '';
  return { verb: verbOf(method, url, contentType), method, path: url.pathname, query: url.searchParams, userAgent };
}

function verbOf(method: string, url: URL, contentType: string): Verb {
  const isCollection = addressOf(url.pathname).name === undefined;
  switch (method) {
    case 'POST':
      return 'create';
    case 'PUT':
      return 'update';
    case 'PATCH':
      return contentType.startsWith('application/apply-patch') ? 'apply' : 'patch';
    case 'DELETE':
      return isCollection ? 'deletecollection' : 'delete';
    default:
      if (['true', '1'].includes(url.searchParams.get('watch') ?? '')) return 'watch';
      return isCollection ? 'list' : 'get';
  }
}

/** The last parts of /api/v1/[namespaces/NS/]PLURAL[/NAME[/SUBRESOURCE]] and of its /apis/GROUP/VERSION form. */
export function addressOf(path: string): {
  readonly name: string | undefined;
  readonly subresource: string | undefined;
} {
  const parts = path.split('/').filter((part) => part !== '');
  const rest = parts.slice(parts[0] === 'api' ? 2 : 3);
  const local = rest[0] === 'namespaces' && rest.length > 2 ? rest.slice(2) : rest;
  return { name: local[1], subresource: local[2] };
}
