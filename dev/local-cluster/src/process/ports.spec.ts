import { createServer } from 'node:net';
import { freePorts, requireFreePort } from './ports.ts';

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

describe('a port that a user chose', () => {
  const use = { use: 'the API', advice: 'Choose another port with --port.' };
  const listenOn = async (port: number): Promise<() => void> => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    return () => server.close();
  };

  it('is refused with what to do while another process listens on it', async () => {
    const [port = 0] = await freePorts(1);
    const close = await listenOn(port);

    await expect(requireFreePort(port, use)).rejects.toThrow(
      `the API cannot listen on port ${port} of 127.0.0.1: another process uses it, perhaps another user's. Choose another port with --port.`,
    );
    close();
  });

  it('is accepted when nothing listens on it', async () => {
    const [port = 0] = await freePorts(1);

    await expect(requireFreePort(port, use)).resolves.toBeUndefined();
  });
});
