import { connect, createServer, type Socket } from 'node:net';

/** A TCP wire to a real server that a test can cut, hold and mend. */
export interface Wire {
  /** What to use instead of the server's own URL. */
  readonly url: string;
  /** Breaks every connection and refuses new ones. */
  cut(): void;
  /** Connections stand, and nothing that is sent arrives. */
  hold(): void;
  /** Lets everything through again, on new connections. */
  mend(): void;
  end(): void;
}

/** Lays a wire to the server at `target`, an http URL with a port. */
export async function layWire(target: string): Promise<Wire> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  let state: 'through' | 'cut' | 'held' = 'through';
  const server = createServer((near) => {
    if (state === 'cut') {
      near.destroy();
      return;
    }
    const far = connect(Number(port), hostname);
    for (const socket of [near, far]) {
      open.add(socket);
      // A cut shows as an error on both ends: that is what it is for.
      socket.on('error', () => {});
      socket.on('close', () => open.delete(socket));
    }
    near.on('data', (bytes) => state !== 'held' && far.write(bytes));
    far.on('data', (bytes) => near.write(bytes));
    near.on('close', () => far.destroy());
    far.on('close', () => near.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const hang = () => {
    for (const socket of open) socket.destroy();
  };
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`,
    cut() {
      state = 'cut';
      hang();
    },
    hold() {
      state = 'held';
    },
    mend() {
      state = 'through';
      hang();
    },
    end() {
      hang();
      server.close();
    },
  };
}
