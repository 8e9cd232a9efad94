export { FaultyServer } from './faulty-server.ts';
