import { connect, createServer, type Socket } from 'node:net';

/** How a lock is waited for. */
export interface LockOptions {
  /** Called once if another process holds the lock, with its process id. */
  readonly onWait?: (ownerPid: string) => void;
}

/**
 * Runs `action` while this process alone, of this user on this machine, has the lock `name`.
 *
 * The lock is an abstract Unix socket: the kernel gives it back when its owner ends, however it ends, so there is
 * neither a stale file nor a process id to misjudge. Waiting processes hold a connection and see the end at once.
 */
export async function withLock<T>(name: string, action: () => Promise<T>, options: LockOptions = {}): Promise<T> {
  const path = `\0coxswain-${process.getuid?.() ?? 0}-${name}`;
  let release = await tryTake(path);
  for (let hasReported = false; release === undefined; hasReported = true) {
    await ownerGone(path, hasReported ? undefined : options.onWait);
    release = await tryTake(path);
  }
  try {
    return await action();
  } finally {
    release();
  }
}

function tryTake(path: string): Promise<(() => void) | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<(() => void) | undefined>();
  const visitors = new Set<Socket>();
  const server = createServer((visitor) => {
    visitors.add(visitor);
    visitor.on('error', () => undefined);
    visitor.on('close', () => visitors.delete(visitor));
    visitor.write(String(process.pid));
  });
  server.once('error', (error: NodeJS.ErrnoException) =>
    error.code === 'EADDRINUSE' ? resolve(undefined) : reject(error),
  );
  server.listen({ path }, () =>
    resolve(() => {
      server.close();
      visitors.forEach((visitor) => visitor.destroy());
    }),
  );
  return promise;
}

function ownerGone(path: string, onWait: LockOptions['onWait']): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const visit = connect({ path });
  visit.once('data', (pid) => onWait?.(pid.toString()));
  visit.on('error', () => resolve()); // It was released between our two calls.
  visit.on('close', () => resolve());
  return promise;
}
