/** What do the ranks of one incarnation find beside their environment? The socket of facts, and the files that were rendered for the engine. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { RANK_ENV, type EngineRun } from '@coxswain/api-types';
import { expand, type Variables } from '../engine/engine-run.ts';
import { FactServer, type FactServerOptions } from '../facts/fact-server.ts';
import { installHook } from '../hook/install-hook.ts';
import { makeOwnDirectory, removeOwnDirectory } from '../processes/own-directory.ts';

interface Made {
  readonly facts: FactServer;
  readonly directory: string;
  /** Undefined where there are none. */
  readonly filesDirectory: string | undefined;
  /** Folder for Python's path; undefined where it could not be written. */
  readonly hook: string | undefined;
}

interface Contents {
  readonly files: EngineRun['files'];
  /** For which names in files stand: all ranks of the pod have them in common. */
  readonly variables: Variables;
  readonly logLine: (sentence: string) => void;
}

/** The private directory of one incarnation: the fact server's socket, rendered files of the engine and the Python hook. */
export class IncarnationPlace implements Made {
  readonly facts: FactServer;
  readonly directory: string;
  readonly filesDirectory: string | undefined;
  readonly hook: string | undefined;

  private constructor({ facts, directory, filesDirectory, hook }: Made) {
    this.facts = facts;
    this.directory = directory;
    this.filesDirectory = filesDirectory;
    this.hook = hook;
  }

  /** Throws where there is no room for it. */
  static async open(
    options: Omit<FactServerOptions, 'path'>,
    { files, variables, logLine }: Contents,
  ): Promise<IncarnationPlace> {
    const directory = makeOwnDirectory();
    try {
      const filesDirectory = files.length === 0 ? undefined : join(directory, 'engine');
      if (filesDirectory !== undefined) writeFiles(filesDirectory, files, variables);
      const facts = await FactServer.listen({ ...options, path: join(directory, 'facts') });
      return new IncarnationPlace({ facts, directory, filesDirectory, hook: writeHook(directory, logLine) });
    } catch (error) {
      removeOwnDirectory(directory);
      throw error;
    }
  }

  /** Reads the last facts for `deadlineMs` at most, and removes the directory. */
  async close(deadlineMs: number): Promise<void> {
    await this.facts.drain(deadlineMs);
    removeOwnDirectory(this.directory);
  }
}

function writeFiles(directory: string, files: EngineRun['files'], variables: Variables): void {
  const all: Variables = { ...variables, [RANK_ENV.engineFiles]: directory };
  for (const { path, text } of files) {
    mkdirSync(dirname(join(directory, path)), { recursive: true });
    writeFileSync(join(directory, path), expand(text, all));
  }
}

/** Training works without the hook. */
function writeHook(directory: string, logLine: (sentence: string) => void): string | undefined {
  try {
    return installHook(directory);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    logLine(`The hook cannot be written, so Coxswain cannot check what is trained: ${why}`);
    return undefined;
  }
}
