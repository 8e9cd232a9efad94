/** An issuer of accounts: as much of OpenID Connect as a command line needs to sign in, and for the page to be sent there. */
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Everybody is in it. */
export const GROUP = 'researchers';
/** Of the page and of the command line. */
export const CLIENT = 'coxswain';

const LIFETIME_S = 300;

/** A running issuer. */
export interface FuzzIssuer {
  readonly url: string;
  /** An ID token of somebody, that was issued now. */
  idToken(): string;
  close(): Promise<void>;
}

/** Starts it with a key of its own. */
export async function startIssuer(): Promise<FuzzIssuer> {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const server = createServer((request, answer) => {
    answer.setHeader('content-type', 'application/json');
    const document = { '/.well-known/openid-configuration': metadata, '/keys': keys }[request.url ?? ''];
    answer.statusCode = document === undefined ? 404 : 200;
    answer.end(JSON.stringify(document ?? {}));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const metadata = {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    jwks_uri: `${url}/keys`,
    response_types_supported: ['code'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  };
  const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256', use: 'sig' }] };
  const encoded = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  return {
    url,
    idToken: () => {
      const nowS = Math.floor(Date.now() / 1_000);
      const times = { iat: nowS, exp: nowS + LIFETIME_S };
      const claims = { iss: url, aud: CLIENT, sub: 'ada', jti: randomUUID(), groups: [GROUP], ...times };
      const signed = `${encoded({ alg: 'ES256', kid: 'one' })}.${encoded(claims)}`;
      const signature = sign('sha256', Buffer.from(signed), { key: privateKey, dsaEncoding: 'ieee-p1363' });
      return `${signed}.${signature.toString('base64url')}`;
    },
    close: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
