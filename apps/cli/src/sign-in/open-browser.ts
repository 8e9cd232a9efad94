import { spawn } from 'node:child_process';

const OPENERS: Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

/** Opens an address in the person's browser, if there is one that can be found. */
export function openBrowser(url: string): void {
  const [program, ...args] = OPENERS[process.platform] ?? ['xdg-open'];
  const opened = spawn(program, [...args, url], { stdio: 'ignore', detached: true });
  opened.on('error', () => undefined);
  opened.unref();
}
