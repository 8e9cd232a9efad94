export { FaultyServer } from './faulty-server.ts';
export { Killed, MemoryStore } from './memory-store.ts';
