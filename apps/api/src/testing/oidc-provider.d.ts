/** As much of `oidc-provider` as the tests use; it comes without types. */
declare module 'oidc-provider' {
  import type { Server } from 'node:http';

  export default class Provider {
    constructor(issuer: string, configuration: Readonly<Record<string, unknown>>);
    listen(port: number, host: string): Server;
    callback(): (request: unknown, response: unknown) => void;
    on(event: string, listener: (...args: unknown[]) => void): this;
    proxy: boolean;
  }
}
