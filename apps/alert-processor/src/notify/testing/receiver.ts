import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';

export interface Received {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

export interface Receiver extends AsyncDisposable {
  readonly url: URL;
  readonly received: readonly Received[];
}

/** A server, on a free port unless one is named, that keeps what it gets and answers as the test says. */
export async function receive(answer: (response: ServerResponse, request: Received) => void, port = 0): Promise<Receiver> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const { method = '', url: path = '', headers } = request;
      const one = { method, path, headers, body: Buffer.concat(chunks).toString() };
      received.push(one);
      answer(response, one);
    });
  });
  return { ...(await listening(server, port)), received };
}

export interface RawReceiver extends AsyncDisposable {
  readonly url: URL;
  readonly connections: () => number;
}

/** A server that does with its sockets what the test says, HTTP or not. */
export async function receiveRaw(connected: (socket: Socket) => void): Promise<RawReceiver> {
  let connections = 0;
  const server = createTcpServer({ allowHalfOpen: true }, (socket) => {
    connections += 1;
    socket.on('error', () => {}); // The client breaks off as it pleases.
    connected(socket);
  });
  return { ...(await listening(server)), connections: () => connections };
}

async function listening(server: Server, port = 0): Promise<{ readonly url: URL } & AsyncDisposable> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/alerts?team=a`),
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}
