import { createHmac, timingSafeEqual } from 'node:crypto';
import { DomainError } from '@coxswain/domain-error';

/** Position in a list whose rows are ordered by something and, where that is the same, by id. */
export interface PagePosition {
  /** What the row has in that order, as PostgreSQL writes it: a time to the microsecond. */
  readonly key: string;
  readonly id: string;
}

/** Makes and reads page tokens. A token is signed together with the list it belongs to, so it opens no other one. */
export class PageTokens {
  readonly #secret: Buffer;

  constructor(secret: Buffer) {
    this.#secret = secret;
  }

  write(scope: string, position: PagePosition): string {
    const body = Buffer.from(JSON.stringify([position.key, position.id])).toString('base64url');
    return `${body}.${this.#sign(scope, body)}`;
  }

  /** INVALID_REQUEST when the token was not made here for this list. */
  read(scope: string, token: string): PagePosition {
    const [body = '', signature = ''] = token.split('.');
    const received = Buffer.from(signature, 'base64url');
    const wanted = Buffer.from(this.#sign(scope, body), 'base64url');
    if (received.length !== wanted.length || !timingSafeEqual(received, wanted)) {
      const violation = { pointer: '/pageToken', detail: 'is not a token of this list; start again without it' };
      throw new DomainError('INVALID_REQUEST', `pageToken ${violation.detail}`, [violation]);
    }
    const [key, id] = JSON.parse(Buffer.from(body, 'base64url').toString('utf8')) as [string, string];
    return { key, id };
  }

  #sign(scope: string, body: string): string {
    return createHmac('sha256', this.#secret).update(`${scope}\n${body}`).digest('base64url');
  }
}
