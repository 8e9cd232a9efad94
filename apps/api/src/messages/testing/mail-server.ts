import { type AddressInfo, createServer, type Socket } from 'node:net';

/** What a mail server answers to a command, by its first word; the rest is as usual. */
export type MailScript = Readonly<Record<string, string>>;

/** A mail server on this machine, and each line that came to it. */
export interface MailServer {
  readonly port: number;
  readonly heard: string[];
  close(): void;
}

const USUAL: MailScript = {
  EHLO: '250-mail.example.com\r\n250 AUTH PLAIN',
  AUTH: '235 ok',
  STARTTLS: '502 no',
  DATA: '354 go on',
  QUIT: '221 bye',
};

/** Speaks as much of SMTP as a client needs. `isSilent`: it never greets. */
export async function startMailServer(script: MailScript = {}, isSilent = false): Promise<MailServer> {
  const heard: string[] = [];
  const server = createServer((socket: Socket) => {
    let isData = false;
    let rest = '';
    if (!isSilent) socket.write('220 mail.example.com\r\n');
    socket.on('error', () => undefined);
    socket.on('data', (chunk) => {
      const lines = (rest + chunk.toString()).split('\r\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        heard.push(line);
        if (isData && line !== '.') continue;
        const word = isData ? '.' : (line.split(' ')[0] ?? '');
        isData = word === 'DATA';
        socket.write(`${script[word] ?? USUAL[word] ?? '250 ok'}\r\n`);
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { port: (server.address() as AddressInfo).port, heard, close: () => void server.close() };
}
