/** Tells the launcher what comes on stdin, as a hook would: a test's engine is a shell script, and a shell cannot open a socket. */
import { once } from 'node:events';
import { connect } from 'node:net';

const { COXSWAIN_REPORT_SOCKET: path = '', COXSWAIN_BOOT_ID: bootId, RANK: rank } = process.env;
const socket = connect(path);
const hello = { kind: 'hello', version: 1, pid: process.pid, bootId, rank: Number(rank), hook: 'engine' };
socket.write(`${JSON.stringify(hello)}\n`);
await once(socket, 'data');
process.stdin.pipe(socket);
// The launcher closes its end when it has read everything.
await once(socket, 'close');
