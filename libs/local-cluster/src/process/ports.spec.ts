import { createServer } from 'node:net';
import { freePorts } from './ports.ts';

describe('freePorts', () => {
  it('never hands out the same port twice', async () => {
    const [first, second] = await Promise.all([freePorts(50), freePorts(50)]);

    expect(new Set([...first, ...second]).size).toBe(100);
  });

  it('hands out ports that one can listen on', async () => {
    const [port = 0] = await freePorts(1);
    const server = createServer();

    const address = await new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(server.address())));
    server.close();

    expect(address).toMatchObject({ port });
  });
});
