export { FaultyServer } from './faulty-server.ts';
export { MemoryStore } from './memory-store.ts';
