/** Loaded by bootstrap.mjs into the program it starts: ends this process in good order when the parent is killed. */
import { Socket } from 'node:net';

const LIFELINE = 3; // The parent holds the other end, and the kernel closes it with the parent.

const lifeline = new Socket({ fd: LIFELINE, readable: true, writable: false });
lifeline.on('error', () => undefined);
lifeline.on('close', () => process.kill(process.pid, 'SIGTERM'));
lifeline.resume();
lifeline.unref();
