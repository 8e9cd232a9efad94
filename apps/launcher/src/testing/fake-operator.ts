import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import {
  formatRanks,
  LauncherMessage,
  REPORT_PATH,
  type OperatorMessage,
  type RankAssignment,
} from '@coxswain/api-types';
import { createAuthority, type CertificateAuthority } from '@coxswain/local-cluster';
import { WebSocketServer, type WebSocket } from 'ws';

/** One launcher's connection, as the operator sees it. */
export interface Connection {
  readonly authorization: string;
  readonly messages: LauncherMessage[];
  send(message: OperatorMessage): void;
  close(): void;
}

/** What this operator does with a message; by default it welcomes and acknowledges. */
export type Behaviour = (message: LauncherMessage, connection: Connection, operator: FakeOperator) => void;

/** Ranks 0 to `count` - 1 of one pod alone, which saves into the mount itself. */
export function aWholeGang(count: number, more: Partial<RankAssignment> = {}): RankAssignment {
  const ranks = formatRanks(Array.from({ length: count }, (_, rank) => rank));
  const pod = { podIndex: 0, podCount: 1, ranks, worldSize: count };
  return { epoch: 1, incarnation: 1, ...pod, saveDirectory: '.', ...more };
}

/** Welcomes, acknowledges, assigns ranks to whoever has none, and hands rank 0's address to all. */
export const obliging: Behaviour = (message, connection, operator) => {
  if (message.rendezvous !== null && operator.rendezvous === undefined) {
    operator.rendezvous = message.rendezvous;
    for (const other of operator.connections) other.send({ kind: 'rendezvous', address: message.rendezvous });
  }
  if (message.kind === 'hello') {
    connection.send({ kind: 'welcome', leaderTerm: 1 });
    if (operator.listensTo.length > 0) connection.send({ kind: 'listensTo', parts: [...operator.listensTo] });
    if (operator.rendezvous !== undefined) connection.send({ kind: 'rendezvous', address: operator.rendezvous });
    if (message.state === 'waiting') {
      if (operator.verifyWanted !== undefined) connection.send(operator.verifyWanted);
      connection.send({ kind: 'assignment', assignment: operator.assignmentOf(message.podIndex) });
    }
  }
  connection.send({ kind: 'ack', sequence: message.sequence });
};

/** A report endpoint on loopback with a real certificate, that holds launchers to the contract. */
export class FakeOperator {
  readonly connections: Connection[] = [];
  /** Frames that broke the contract; a test expects none. */
  readonly violations: string[] = [];
  rendezvous: string | undefined;
  /** What the pod of that index is assigned as it comes. */
  assignmentOf: (podIndex: number) => RankAssignment = () => aWholeGang(1);
  /** Sent before each assignment. */
  verifyWanted: Extract<OperatorMessage, { kind: 'verifyWanted' }> | undefined;
  /** Optional parts of messages that it announces to read. */
  listensTo: readonly string[] = [];
  behaviour: Behaviour;
  readonly #server: Server;
  readonly #sockets = new Set<WebSocket>();

  private constructor(server: Server, behaviour: Behaviour) {
    this.#server = server;
    this.behaviour = behaviour;
    const sockets = new WebSocketServer({ server, path: REPORT_PATH });
    sockets.on('connection', (socket, request) => this.#accept(socket, request.headers.authorization ?? ''));
  }

  static async start(authority: CertificateAuthority, behaviour: Behaviour = obliging): Promise<FakeOperator> {
    const { certPem, keyPem } = await authority.issue({ commonName: 'operator', hosts: ['127.0.0.1'] });
    const server = createServer({ cert: certPem, key: keyPem });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new FakeOperator(server, behaviour);
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Everything that was told, over all connections. */
  get messages(): readonly LauncherMessage[] {
    return this.connections.flatMap(({ messages }) => messages);
  }

  ofKind<K extends LauncherMessage['kind']>(kind: K): readonly Extract<LauncherMessage, { kind: K }>[] {
    return this.messages.filter((message) => message.kind === kind) as Extract<LauncherMessage, { kind: K }>[];
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets) socket.terminate();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(socket: WebSocket, authorization: string): void {
    this.#sockets.add(socket);
    const connection: Connection = {
      authorization,
      messages: [],
      send: (message) => socket.send(JSON.stringify(message)),
      close: () => socket.terminate(),
    };
    this.connections.push(connection);
    socket.on('error', () => undefined);
    socket.on('message', (data) => {
      const parsed = LauncherMessage.safeParse(JSON.parse(String(data)));
      if (!parsed.success) {
        this.violations.push(`${String(data).slice(0, 200)}: ${parsed.error.message}`);
        return;
      }
      connection.messages.push(parsed.data);
      this.behaviour(parsed.data, connection, this);
    });
  }
}

let shared: Promise<CertificateAuthority> | undefined;

/** One authority for all operators of a test file. */
export function anAuthority(): Promise<CertificateAuthority> {
  shared ??= createAuthority('coxswain-test');
  return shared;
}
