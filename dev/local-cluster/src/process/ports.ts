import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';

const handedOut = new Set<number>();
const LOWEST = 10_240;
const ATTEMPTS = 200;

/**
 * A TCP port that nothing listens on at 127.0.0.1, never handed out before by this process.
 *
 * It lies below the range from which the kernel takes ports for outgoing connections. So a server that stops for a while can start again on its port,
 * without another connection there.
 */
export async function freePort(): Promise<number> {
  const top = lowestEphemeralPort();
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const port = LOWEST + Math.floor(Math.random() * (top - LOWEST));
    if (!handedOut.has(port) && (await isFree(port))) {
      handedOut.add(port);
      return port;
    }
  }
  throw new Error(`found no free TCP port between ${LOWEST} and ${top} on 127.0.0.1 in ${ATTEMPTS} attempts`);
}

/**
 * Throws if another process listens on `port` of 127.0.0.1. `use` names what needs the port and `advice` what to do instead,
 * as in "the API cannot listen on port 8080 ...". A readiness check alone would take the other process for ours.
 */
export async function requireFreePort(port: number, { use, advice }: PortUse): Promise<void> {
  if (!(await isFree(port))) {
    throw new Error(
      `${use} cannot listen on port ${port} of 127.0.0.1: another process uses it, perhaps another user's. ${advice}`,
    );
  }
}

/** What a fixed port is for. */
export interface PortUse {
  readonly use: string;
  readonly advice: string;
}

/** `count` different ports of {@link freePort}. */
export async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) {
    ports.push(await freePort());
  }
  return ports;
}

/** Source: ip_local_port_range in the kernel's ip-sysctl documentation. */
function lowestEphemeralPort(): number {
  try {
    const low = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0]);
    return low > LOWEST + 1000 ? low : 32_768;
  } catch {
    return 32_768;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ host: '127.0.0.1', port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
