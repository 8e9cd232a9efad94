/** Keys by which the API recognizes a submit that it has received already. */
export class SubmissionKeys {
  #last: { readonly body: string; readonly key: string } | undefined;

  /** The same key for the same request, so that a second click submits nothing; another key once the request has changed. */
  keyFor(body: string): string {
    if (this.#last?.body !== body) this.#last = { body, key: newKey() };
    return this.#last.key;
  }
}

/** Not `crypto.randomUUID`: browsers have it only on pages of HTTPS. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
