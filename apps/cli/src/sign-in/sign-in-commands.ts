import { ApiProblem } from '@coxswain/api-client';
import type { Command } from 'commander';
import { CliError } from '../cli-error.ts';
import { readCredential, writeCredential } from '../session/credentials-file.ts';
import type { Session } from '../session/session.ts';
import { wholeNumber } from '../options/whole-number.ts';

/** Where `argocd login --sso` listens too; many issuers want to know the port. */
const CALLBACK_PORT = 8_085;

/** Commands by which a person comes and goes: login, logout. */
export function addSignInCommands(program: Command, session: Session): void {
  program
    .command('login')
    .description('sign in with an account of the identity provider, for at most 12 hours')
    .option('--no-browser', 'show a code to enter in a browser on any machine')
    .option(
      '--callback-port <port>',
      'local port that the browser is redirected to; 0: any free port',
      wholeNumber,
      CALLBACK_PORT,
    )
    .action(async (options: { readonly browser: boolean; readonly callbackPort: number }) => {
      const { server, credentialsPath, api } = session.signInPlace();
      const { issuer, commandLine } = await api.signInMethods();
      if (issuer === null || commandLine === null) {
        throw new CliError(
          `${server} does not support sign-in from the command line. Ask an administrator of your project for an API token.`,
        );
      }
      const client = { issuer, ...commandLine };
      // OpenID Connect is loaded here, because no other command needs it.
      const { signInByBrowser, signInByDevice } = await import('./issuer-sign-in.ts');
      const aid = { signal: session.signal, print: session.printError, openBrowser: session.openBrowser ?? ignore };
      const trade = options.browser
        ? await signInByBrowser(client, options.callbackPort, aid)
        : await signInByDevice(client, aid);
      const { name, token, expiresAt } = await api.tradeForToken(trade);
      writeCredential(credentialsPath, server, { name, token, expiresAt });
      session.print(`Signed in at ${server} as ${name} until ${expiresAt.slice(0, 16)}Z.`);
    });

  program
    .command('logout')
    .description('sign out: end the session of `coxswain login`')
    .action(async () => {
      const { server, credentialsPath, withToken } = session.signInPlace();
      const credential = readCredential(credentialsPath, server);
      if (credential === undefined) {
        session.print(`You were not signed in at ${server}.`);
        return;
      }
      await withToken(credential.token).signOut().catch(unlessOver);
      writeCredential(credentialsPath, server, undefined);
      session.print(`Signed out at ${server}.`);
    });
}

/** A session that is over needs no end. */
function unlessOver(error: unknown): void {
  if (!(error instanceof ApiProblem && error.status === 401)) throw error;
}

function ignore(): void {
  // Its address was printed.
}
